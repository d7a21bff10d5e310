import { type FailureResult, isFailure } from '../accounts/attempt.ts';
import type { Cooldown } from '../health/account-health.ts';
import type { Obstacle } from './selection.ts';

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
