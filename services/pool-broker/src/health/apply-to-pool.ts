import { isFaultOfPool } from '../accounts/attempt.ts';
import type { Probe } from './account-health.ts';
import type { EndedAttempt } from './apply-outcome.ts';
import { poolAvailabilityOf } from './availability.ts';
import { guessedMs, type HealthRules } from './cooldown.ts';
import {
  forgottenTroubleAtMs,
  isPauseOver,
  type PoolHealth,
  type PoolTrouble,
  type TroubleCause,
  troublesModel,
} from './pool-health.ts';

/** An attempt that has ended, as its pool's health needs to know it. */
export interface PoolAttempt extends EndedAttempt {
  readonly accountId: string;
  /** How many accounts of the pool may serve the model. */
  readonly accounts: number;
  /** When the oldest request was sent that is under way since the trouble began. Undefined: none is. See `troubleSinceMs`. */
  readonly oldestUnderWayMs: number | undefined;
}

/** When the trouble began that a fault belongs to. */
export function troubleSinceMs(
  health: PoolHealth,
  { cause, model, nowMs }: { readonly cause: TroubleCause; readonly model: string; readonly nowMs: number },
  rules: HealthRules,
): number {
  const known = knownTrouble(health, cause, model);
  const last = known?.failures.at(-1);
  if (known === undefined || last === undefined) return nowMs;
  const { poolTroubleWindowMs } = rules.settings;
  return nowMs - Math.max(last.atMs, known.pause?.untilMs ?? 0) < poolTroubleWindowMs ? known.sinceMs : nowMs;
}

/** A pool's health after one more attempt; the same value when the attempt says nothing new. Pure but for `random`. */
export function applyToPool(health: PoolHealth, attempt: PoolAttempt, rules: HealthRules): PoolHealth {
  const { result } = attempt.outcome;
  if (isFaultOfPool(result)) return afterFault(health, attempt, result, rules);
  // A probe without a result leaves the right to the next one.
  if (result === 'cancelled') return changeTroubles(health, (trouble) => withoutProbe(trouble, attempt));
  return afterAnswer(health, attempt);
}

/** Takes the right to find out. Undefined when nothing is to be found out, or another request has it. */
export function startPoolProbe(health: PoolHealth, model: string, probe: Probe, nowMs: number): PoolHealth | undefined {
  if (poolAvailabilityOf(health, model, nowMs).kind !== 'probe_due') return undefined;
  const troubles = health.troubles.map((trouble) => {
    const { pause } = trouble;
    if (pause === undefined || !troublesModel(trouble, model) || isPauseOver(pause, nowMs)) return trouble;
    return { ...trouble, pause: { ...pause, probe } };
  });
  return { troubles };
}

/** The provider answered: the way to it is open, and after a success it has room. A request that was sent earlier proves nothing. */
function afterAnswer(health: PoolHealth, attempt: PoolAttempt): PoolHealth {
  const { model, outcome } = attempt;
  return changeTroubles(health, (trouble) => {
    if (!troublesModel(trouble, model)) return trouble;
    if (trouble.cause === 'overloaded' && outcome.result !== 'succeeded') return withoutProbe(trouble, attempt);
    return refutedBy(trouble, attempt);
  });
}

function refutedBy(trouble: PoolTrouble, { leaseId, leasedAtMs }: PoolAttempt): PoolTrouble | undefined {
  const { pause, failures, sinceMs } = trouble;
  const sentAtMs = leasedAtMs ?? Number.NEGATIVE_INFINITY;
  if (pause?.probe?.leaseId === leaseId || (pause !== undefined && sentAtMs > pause.sinceMs)) return undefined;
  if (sentAtMs <= sinceMs) return trouble;
  const later = failures.filter(({ atMs }) => atMs >= sentAtMs);
  return later.length === 0 && pause === undefined ? undefined : { ...trouble, sinceMs: sentAtMs, failures: later };
}

function withoutProbe(trouble: PoolTrouble, { leaseId }: PoolAttempt): PoolTrouble {
  const { pause } = trouble;
  return pause?.probe?.leaseId === leaseId ? { ...trouble, pause: { ...pause, probe: undefined } } : trouble;
}

function afterFault(health: PoolHealth, attempt: PoolAttempt, cause: TroubleCause, rules: HealthRules): PoolHealth {
  const { nowMs, accountId } = attempt;
  const known = knownTrouble(health, cause, attempt.model);
  const sinceMs = troubleSinceMs(health, { cause, model: attempt.model, nowMs }, rules);
  const run = sinceMs === known?.sinceMs ? known.failures : [];
  const failures = [...run, { accountId, atMs: nowMs }].slice(-manyFailures);
  const trouble: PoolTrouble = { cause, model: scopeOf(cause, attempt.model), sinceMs, failures, pause: known?.pause };
  const others = health.troubles.filter((other) => other !== known && nowMs < forgottenTroubleAtMs(other));
  return { troubles: [...others, withPause(trouble, attempt, rules)].slice(-maxTroubles) };
}

function withPause(trouble: PoolTrouble, attempt: PoolAttempt, rules: HealthRules): PoolTrouble {
  const { pause } = trouble;
  const { nowMs, leaseId, leasedAtMs = nowMs } = attempt;
  const wasProbe = pause?.probe?.leaseId === leaseId;
  // Requests that were under way when the pause began fail together: that is one event.
  if (pause !== undefined && !wasProbe && leasedAtMs <= pause.sinceMs) return trouble;
  if (!wasProbe && !isOfPool(trouble, attempt, rules)) return trouble;
  const strikes = (pause?.strikes ?? 0) + 1;
  const { poolPauseMs: firstMs, poolPauseMaxMs: maxMs } = rules.settings;
  const guessMs = guessedMs(strikes, { firstMs, maxMs }, rules);
  const givenMs = Math.min(maxMs, (attempt.outcome.retryAtMs ?? nowMs) - nowMs);
  return { ...trouble, pause: { sinceMs: nowMs, untilMs: nowMs + Math.max(guessMs, givenMs), strikes } };
}

/** True when so many accounts have met the trouble, or so many requests, that it is none of theirs, and nothing gets through. */
function isOfPool(trouble: PoolTrouble, attempt: PoolAttempt, rules: HealthRules): boolean {
  const { cause, sinceMs, failures } = trouble;
  const { poolTroubleAccounts, overloadConfirmMs, networkConfirmMs } = rules.settings;
  const confirmedMs = attempt.nowMs - (cause === 'overloaded' ? overloadConfirmMs : networkConfirmMs);
  if (sinceMs > confirmedMs || (attempt.oldestUnderWayMs ?? attempt.nowMs) <= confirmedMs) return false;
  const distinct = new Set(failures.map(({ accountId }) => accountId)).size;
  if (failures.length >= manyFailures) return true;
  return failures.length >= fewestFailures && distinct >= Math.min(poolTroubleAccounts, attempt.accounts);
}

/** Fewer in a row may be bad luck with a provider that refuses some requests and takes others. */
const fewestFailures = 8;
/** So many are no accident, even where few accounts of a pool take requests now. */
const manyFailures = 12;
const maxTroubles = 16;

function knownTrouble({ troubles }: PoolHealth, cause: TroubleCause, model: string): PoolTrouble | undefined {
  return troubles.find((trouble) => trouble.cause === cause && trouble.model === scopeOf(cause, model));
}

/** Providers are overloaded model by model; the way to them is the same for all. */
function scopeOf(cause: TroubleCause, model: string): string {
  return cause === 'overloaded' ? model : '';
}

/** Undefined takes a trouble away. The same health when none has changed. */
function changeTroubles(health: PoolHealth, change: (trouble: PoolTrouble) => PoolTrouble | undefined): PoolHealth {
  const troubles = health.troubles.map(change);
  if (troubles.every((trouble, index) => trouble === health.troubles[index])) return health;
  return { troubles: troubles.filter((trouble) => trouble !== undefined) };
}
