import { coolingText, failureTexts, skipTexts, spareCapacityText, untilText } from '@gateway/presentation/routing-text';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { LabelSets } from '../accounts/account.ts';
import { isLack } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import type { Cooldown } from '../health/account-health.ts';
import { errorAverageAt, type SkipReason } from '../health/eligibility.ts';
import type { Broker } from './broker.ts';
import { readCandidate } from './read-candidates.ts';
import { askAnyway, type Examination, type Selection, selectAccount } from './select-account.ts';

/**
 * Explains which account would serve a first request for a model now, and why the others would not.
 * Changes nothing.
 */
export async function explainModel(broker: Broker, model: string, affinityKey: string, labelSets: LabelSets) {
  const { catalog, settings: rules } = broker.configuration;
  const asking = { affinityKey, caller: '', labelSets };
  const resolved = catalog.resolve(model, [], labelSets);
  const candidates = await Promise.all(resolved.map((candidate) => readCandidate(broker, candidate, asking, 'all')));
  // Equal accounts are normally drawn at random; here the first one represents all.
  const first = { affinityKey, attempts: [], overtakenIds: [], rules, nowMs: broker.store.nowMs(), random: () => 0 };
  const found = selectAccount({ ...first, candidates });
  const selection = found && askAnyway(found, first);
  return candidates.map((candidate) => {
    // Candidates after the chosen one are examined as if each were alone.
    const examinations = selectAccount({ ...first, candidates: [candidate] })?.examinations ?? [];
    const accounts = examinations
      .flatMap(({ examined }) => examined)
      .map(({ view, skipReason }) => {
        const chosen = selection?.kind === 'chosen' && selection.view === view && selection.candidate === candidate;
        if (skipReason !== undefined) return { view, chosen, reason: chosen ? '' : skipReasonText(skipReason, true) };
        const failsTooOften = errorAverageAt(view.health, first.nowMs) >= rules.errorThreshold;
        return { view, chosen, reason: chosen ? '' : passedOverText(selection, candidate.candidate, failsTooOften) };
      });
    return { candidate: candidate.candidate, accounts };
  });
}

/** Why an account that could serve the request was not chosen. */
function passedOverText(selection: Selection | undefined, candidate: Candidate, failsTooOften: boolean): string {
  if (selection?.kind !== 'chosen') return '';
  const { candidate: chosen, probe } = selection;
  const { id } = selection.view.account;
  if (chosen.candidate !== candidate) return `an earlier candidate has an account available: ${id}`;
  if (chosen.boundAccountId === id) return `the session is bound to ${id}`;
  if (probe) return `the request probes whether ${id} has recovered`;
  if (failsTooOften) return 'too many of its recent attempts failed';
  return spareCapacityText(id);
}

/** Why every account is limited, if not only by its provider. Empty: only by its provider. */
export function exhaustedText(examinations: readonly Examination[]): string {
  const reasons = examinations.flatMap(({ examined }) => examined.map(({ skipReason }) => skipReason));
  const kinds = new Set(reasons.flatMap((reason) => (reason?.retryAtMs === undefined ? [] : [reason.kind])));
  const [only, ...others] = kinds;
  if (others.length === 0 && only === 'busy')
    return 'all eligible accounts are at their maximum of concurrent requests';
  if (others.length === 0 && only === 'share_used_up') return skipTexts.share_used_up;
  if (!kinds.has('busy') && !kinds.has('share_used_up')) return '';
  return 'all eligible accounts are rate limited, busy, or reserved for other callers';
}

/**
 * Why an account is skipped, in words for operators: "cooling until 2026-11-21T09:00:00.000Z after
 * 429". Without times, accounts with the same reason can be counted together.
 */
export function skipReasonText(skipReason: SkipReason, withTimes: boolean): string {
  const shownMs = (epochMs: number) => (withTimes ? epochMs : undefined);
  switch (skipReason.kind) {
    case 'cooling':
      return coolingText(causeText(skipReason.cooldown), shownMs(skipReason.cooldown.untilMs));
    case 'probing':
      return `probing${withTimes ? ': one request is testing whether it has recovered' : ''} ${causeText(skipReason.cooldown)}`;
    case 'pool_paused':
      return `the whole pool is paused${untilText(shownMs(skipReason.untilMs))} after ${failureText(skipReason.cooldown.reason)}`;
    case 'tried':
      return `already tried in this request: ${failureText(skipReason.result)}`;
    case 'disabled':
      return skipReason.note === '' ? 'disabled in the configuration' : `disabled: ${skipReason.note}`;
    default:
      return skipTexts[skipReason.kind];
  }
}

function causeText({ reason, model, feature, givenByProvider, window }: Cooldown): string {
  if (isLack(reason)) return `because its provider does not offer it ${feature ?? model}`;
  const scope = model === '' ? '' : ` for ${model}`;
  const quota = window === undefined ? '' : ` of the ${window} window`;
  const source = givenByProvider ? ' (reset named by the provider)' : '';
  return `after ${failureText(reason)}${quota}${scope}${source}`;
}

/** The name of a result that is no failure. */
function failureText(result: AttemptResult): string {
  const name = AttemptResult[result].toLowerCase();
  return failureTexts[name as keyof typeof failureTexts] ?? name;
}
