import { type FailureResult, isFailure, isLack } from '../accounts/attempt.ts';
import type { Candidate } from '../catalog/catalog.ts';
import type { Cooldown } from '../health/account-health.ts';
import { errorAverageAt, type SkipReason } from '../health/eligibility.ts';
import type { Broker } from './broker.ts';
import { readCandidate } from './read-candidates.ts';
import { askAnyway, type Selection, selectAccount } from './select-account.ts';

/**
 * Explains which account would serve a first request for a model now, and why the others would not.
 * Changes nothing.
 */
export async function explainModel(broker: Broker, model: string, affinityKey: string) {
  const { catalog, settings: rules } = broker.configuration;
  const asking = { affinityKey, caller: '' };
  const resolved = catalog.resolve(model, []);
  const candidates = await Promise.all(resolved.map((candidate) => readCandidate(broker, candidate, asking, 'all')));
  // Equal accounts are normally drawn at random; here the first one represents all.
  const first = { affinityKey, attempts: [], overtakenIds: [], rules, nowMs: broker.clock.nowMs(), random: () => 0 };
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
  const { candidate: chosen, view, probe } = selection;
  if (chosen.candidate !== candidate) return 'an earlier candidate has an account available';
  if (chosen.boundAccountId === view.account.id) return 'the session is bound to another account';
  if (probe) return 'the request probes whether another account has recovered';
  if (failsTooOften) return 'too many of its recent attempts failed';
  return 'another account has at least as much spare capacity';
}

/**
 * Why an account is skipped, in words for operators: "cooling until 2026-11-21T09:00:00.000Z after
 * 429". Without times, accounts with the same reason can be counted together.
 */
export function skipReasonText(skipReason: SkipReason, withTimes: boolean): string {
  const until = (epochMs: number) => (withTimes ? ` until ${new Date(epochMs).toISOString()}` : '');
  switch (skipReason.kind) {
    case 'cooling':
      return `cooling${until(skipReason.cooldown.untilMs)} ${causeText(skipReason.cooldown)}`;
    case 'probing':
      return `probing${withTimes ? ': one request is testing whether it has recovered' : ''} ${causeText(skipReason.cooldown)}`;
    case 'pool_paused':
      return `the whole pool is paused${until(skipReason.untilMs)} after ${failureWords[skipReason.cooldown.reason]}`;
    case 'tried':
      return `already tried in this request: ${isFailure(skipReason.result) ? failureWords[skipReason.result] : skipReason.result}`;
    case 'disabled':
      return skipReason.note === '' ? 'disabled in the configuration' : `disabled: ${skipReason.note}`;
    default:
      return skipReasonWords[skipReason.kind];
  }
}

const skipReasonWords = {
  share_used_up: 'the pool is short of capacity, and the caller has used its share',
  busy: 'busy: at its maximum of concurrent requests',
  draining: 'draining: takes no new requests',
  model_not_served: 'its configuration does not include this model',
};

function causeText({ reason, model, feature, givenByProvider, window }: Cooldown): string {
  if (isLack(reason)) return `because its provider does not offer it ${feature ?? model}`;
  const scope = model === '' ? '' : ` for ${model}`;
  const quota = window === undefined ? '' : ` of the ${window} window`;
  const source = givenByProvider ? ' (reset named by the provider)' : '';
  return `after ${failureWords[reason]}${quota}${scope}${source}`;
}

const failureWords: Readonly<Record<FailureResult, string>> = {
  rate_limited: '429',
  unauthorized: '401 or 403',
  overloaded: 'overload',
  server_error: 'server errors',
  network_error: 'network errors',
  timeout: 'timeouts',
  model_unavailable: 'its provider did not offer the model to it',
  feature_unavailable: 'its provider did not offer the feature to it',
};
