import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { Lack } from '../accounts/attempt.ts';
import { anyTime, type Eligibility, type SkipReason } from '../health/eligibility.ts';

/**
 * Exhausted: every account that could serve the request is limited. Unavailable: some of them
 * failed or are down; a probe may succeed before the earliest reset, if there is one. For an
 * account that is only busy, no time is known.
 * @see spec "Rate limits"
 */
export function outcomeOf(examinations: readonly Findings[], nowMs: number) {
  const skipReasons = examinations
    .flatMap(({ examined }) => examined.map(({ skipReason }) => skipReason))
    .filter((skipReason) => skipReason === undefined || !cannotServe[skipReason.kind]);
  const lack = lackOfAll(skipReasons);
  const resets = skipReasons.map((skipReason) => skipReason?.retryAtMs).filter((atMs) => atMs !== undefined);
  const probed = skipReasons.filter((skipReason) => skipReason?.lack === undefined);
  const probes = probed.map((skipReason) => skipReason?.probeAtMs).filter((atMs) => atMs !== undefined);
  if (resets.length === 0) {
    // An account that has just failed the request is not paused: a retry may fail there at once.
    const pauses = probed
      .filter((skipReason) => skipReason?.kind !== 'tried')
      .map((skipReason) => skipReason?.probeAtMs);
    const refusals = probed.map((skipReason) => skipReason?.refusedUntilMs);
    const earliestMs = Math.min(...[...pauses, ...refusals].filter((atMs) => atMs !== undefined));
    const retry = Number.isFinite(earliestMs) ? { retryAtMs: Math.max(nowMs, earliestMs) } : {};
    return { kind: 'unavailable', lack, ...retry } as const;
  }
  const earliestMs = Math.min(...resets, ...probes);
  if (probes.length > 0) return { kind: 'unavailable', lack, retryAtMs: Math.max(nowMs, earliestMs) } as const;
  return { kind: 'exhausted', retryAtMs: earliestMs === anyTime ? undefined : earliestMs } as const;
}

/** What was found about the accounts of a candidate. */
interface Findings {
  readonly examined: readonly Pick<Eligibility, 'skipReason'>[];
}

/**
 * What all accounts in service lack. Undefined when one of them is unavailable for another reason,
 * or none is in service.
 */
function lackOfAll(inService: readonly (SkipReason | undefined)[]): Lack | undefined {
  const lacks = inService.map((skipReason) => skipReason?.lack);
  return lacks.includes(undefined)
    ? undefined
    : (lacks.find((lack) => lack === AttemptResult.FEATURE_UNAVAILABLE) ?? lacks[0]);
}

/** Accounts with these reasons can't serve the request, however long it waits. */
const cannotServe: Readonly<Record<SkipReason['kind'], boolean>> = {
  disabled: true,
  draining: true,
  model_not_served: true,
  busy: false,
  share_used_up: false,
  cooling: false,
  probing: false,
  pool_paused: false,
  tried: false,
};
