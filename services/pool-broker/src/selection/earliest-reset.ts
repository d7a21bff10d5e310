import type { PoolSettings } from '@gateway/config';
import type { Cooldown } from '../health/account-health.ts';
import type { Obstacle } from './fitness.ts';

export type NoAccount = { readonly kind: 'exhausted'; readonly retryAtMs: number } | { readonly kind: 'unavailable' };

/**
 * What to answer when nothing can take a request. Exhausted as soon as one account is merely limited, with the earliest reset
 * of such accounts. One that is only busy, or kept for others, may have a place at any moment: nobody should sleep for hours
 * then, nor ask without a pause.
 */
export function earliestReset(obstacles: readonly Obstacle[], moment: Moment): NoAccount {
  const resets = obstacles.map((obstacle) => resetOf(obstacle, moment)).filter((reset) => reset !== undefined);
  if (resets.length === 0) return { kind: 'unavailable' };
  return { kind: 'exhausted', retryAtMs: Math.min(...resets) };
}

interface Moment {
  readonly nowMs: number;
  readonly rules: Pick<PoolSettings, 'limitProbeQuietMs' | 'freePlaceRetryMs'>;
}

/** When a limited account is free again. Undefined for one that is kept back by something else. */
function resetOf(obstacle: Obstacle, { nowMs, rules }: Moment): number | undefined {
  switch (obstacle.kind) {
    case 'cooling':
      return obstacle.limitOnly ? openAtMs(obstacle.cooldown, rules.limitProbeQuietMs) : undefined;
    case 'probing':
      return obstacle.limitOnly ? obstacle.freeAtMs : undefined;
    case 'busy':
    case 'share_used_up':
      return nowMs + rules.freePlaceRetryMs;
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
