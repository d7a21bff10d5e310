import type { PoolSettings } from '@gateway/config';
import type { Cooldown } from '../health/account-health.ts';
import type { Obstacle } from './fitness.ts';

export type NoAccount =
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' };

/**
 * What to answer when nothing can take a request. Exhausted as soon as one account is merely limited, with the earliest reset
 * of such accounts; but with none when one of them is only busy, or kept for others: a place may be free at any moment, which is
 * no reset, and nobody should sleep for hours then.
 * @see spec "Rate limits": `retryAt` is the earliest known reset when there is one
 */
export function earliestReset(obstacles: readonly Obstacle[], moment: Moment): NoAccount {
  const resets = obstacles.map((obstacle) => resetOf(obstacle, moment)).filter((reset) => reset !== undefined);
  if (resets.length === 0) return { kind: 'unavailable' };
  if (resets.includes('any_moment')) return { kind: 'exhausted', retryAtMs: undefined };
  return { kind: 'exhausted', retryAtMs: Math.min(...resets.filter((reset) => reset !== 'any_moment')) };
}

interface Moment {
  readonly nowMs: number;
  readonly rules: Pick<PoolSettings, 'limitProbeQuietMs'>;
}

/** When a limited account is free again. Undefined for one that is kept back by something else. */
function resetOf(obstacle: Obstacle, { nowMs, rules }: Moment): number | 'any_moment' | undefined {
  switch (obstacle.kind) {
    case 'cooling':
      return obstacle.limitOnly ? openAtMs(obstacle.cooldown, rules.limitProbeQuietMs) : undefined;
    case 'probing':
      return obstacle.limitOnly ? obstacle.freeAtMs : undefined;
    case 'busy':
    case 'share_used_up':
      return 'any_moment';
    case 'tried':
      // Limited when it was tried, and over by now.
      return obstacle.result === 'rate_limited' ? nowMs : undefined;
    case 'disabled':
    case 'draining':
    case 'model_not_served':
    case 'pool_paused':
      return undefined;
    default:
      return obstacle satisfies never;
  }
}

/** When requests may come in numbers: after a guessed cooldown a single one finds out first, and it takes a moment to know. */
function openAtMs({ untilMs, givenByProvider }: Cooldown, probeMs: number): number {
  return givenByProvider ? untilMs : untilMs + probeMs;
}
