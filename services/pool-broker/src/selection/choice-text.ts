import { type FailureResult, isFailure } from '../accounts/attempt.ts';
import type { Cooldown } from '../health/account-health.ts';
import type { Examination, Obstacle } from './select-account.ts';

/** Why an account was chosen, in words for operators; empty when none was. */
export function choiceText(examination: Examination | undefined, affinityKey: string): string {
  if (examination?.chosen === undefined) return '';
  const { candidate, examined, chosen } = examination;
  const { view, fitness } = chosen;
  if (fitness.kind === 'unfit' || fitness.probe) return 'to find out whether it is back';
  if (view.account.id === candidate.boundAccountId) return 'its session is bound to it';
  if (!examined.some((other) => other !== chosen && other.fitness.kind === 'fit')) return 'the only one that could';
  return affinityKey === '' ? 'it has as much to spare as any' : "its session's key prefers it";
}

/** Accounts of a candidate that could not take a request, all for the same reason. */
export interface SkippedGroup {
  readonly pool: string;
  readonly model: string;
  readonly reason: string;
  readonly count: number;
}

/** The accounts that were looked at and could not take the request, counted by candidate and reason. */
export function skippedGroups(examinations: readonly Examination[]): readonly SkippedGroup[] {
  return examinations.flatMap(({ candidate: { candidate }, examined }) => {
    const reasons = examined.flatMap(({ fitness }) =>
      fitness.kind === 'fit' ? [] : [obstacleText(fitness.obstacle, 'without times')],
    );
    const groups = Map.groupBy(reasons, (reason) => reason);
    const { pool, model } = candidate;
    return [...groups].map(([reason, { length: count }]) => ({ pool: pool.name, model, reason, count }));
  });
}

/** An obstacle in words for operators: "cooling until 2026-11-21T09:00:00.000Z after 429". Many accounts share one without times. */
export function obstacleText(obstacle: Obstacle, times: 'with times' | 'without times' = 'with times'): string {
  const until = (epochMs: number) => (times === 'with times' ? ` until ${new Date(epochMs).toISOString()}` : '');
  switch (obstacle.kind) {
    case 'cooling':
      return `cooling${until(obstacle.cooldown.untilMs)} ${afterText(obstacle.cooldown)}`;
    case 'probing': {
      const detail = times === 'with times' ? ': one request is finding out whether it is back' : '';
      return `probing${detail} ${afterText(obstacle.cooldown)}`;
    }
    case 'pool_paused':
      return `the whole pool pauses${until(obstacle.untilMs)} after ${failureWords[obstacle.cause]}`;
    case 'share_used_up':
      return 'the pool runs short, and the caller has its share of it';
    case 'busy':
      return 'busy: it has as many requests under way as it may';
    case 'tried':
      return `tried already in this request: ${isFailure(obstacle.result) ? failureWords[obstacle.result] : obstacle.result}`;
    case 'disabled':
      return obstacle.note === '' ? 'disabled in the configuration' : `disabled: ${obstacle.note}`;
    case 'draining':
      return 'draining: it takes nothing new';
    case 'model_not_served':
      return 'its configuration does not let it serve this model';
    default:
      return obstacle satisfies never;
  }
}

function afterText({ reason, model, givenByProvider, window }: Cooldown): string {
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
};
