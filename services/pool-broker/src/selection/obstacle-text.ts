import { type FailureResult, isFailure } from '../accounts/attempt.ts';
import type { Cooldown } from '../health/account-health.ts';
import type { Obstacle } from './fitness.ts';

/** An obstacle in words for operators: "cooling until 2026-11-21T09:00:00.000Z after 429". */
export function obstacleText(obstacle: Obstacle): string {
  switch (obstacle.kind) {
    case 'cooling':
      return `cooling until ${isoTime(obstacle.cooldown.untilMs)} ${afterText(obstacle.cooldown)}`;
    case 'probing':
      return `probing: one request is finding out whether it is back ${afterText(obstacle.cooldown)}`;
    case 'pool_paused':
      return `the whole pool pauses until ${isoTime(obstacle.untilMs)} after ${failureWords[obstacle.cause]}`;
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

/** An obstacle in the words that many accounts can share: without moments. */
export function obstacleReason(obstacle: Obstacle): string {
  if (obstacle.kind === 'cooling') return `cooling ${afterText(obstacle.cooldown)}`;
  if (obstacle.kind === 'probing') return `probing ${afterText(obstacle.cooldown)}`;
  if (obstacle.kind === 'pool_paused') return `the whole pool pauses after ${failureWords[obstacle.cause]}`;
  return obstacleText(obstacle);
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

function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
