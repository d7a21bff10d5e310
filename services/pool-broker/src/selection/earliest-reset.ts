import type { Obstacle } from './fitness.ts';

export type NoAccount =
  | { readonly kind: 'exhausted'; readonly retryAtMs: number | undefined }
  | { readonly kind: 'unavailable' };

/**
 * What to answer when nothing can take a request. Exhausted as soon as one account is merely limited, with the earliest reset
 * of such accounts; but with none when one of them is only busy, for it may be free at any moment and nobody should sleep
 * for hours then.
 */
export function earliestReset(obstacles: readonly Obstacle[], nowMs: number): NoAccount {
  const resets = obstacles.map((obstacle) => resetOf(obstacle, nowMs)).filter((reset) => reset !== undefined);
  if (resets.length === 0) return { kind: 'unavailable' };
  if (resets.includes('any_moment')) return { kind: 'exhausted', retryAtMs: undefined };
  return { kind: 'exhausted', retryAtMs: Math.min(...resets.filter((reset) => reset !== 'any_moment')) };
}

/** When a limited account is free again. Undefined for one that is kept back by something else. */
function resetOf(obstacle: Obstacle, nowMs: number): number | 'any_moment' | undefined {
  switch (obstacle.kind) {
    case 'cooling':
      return obstacle.limitOnly ? obstacle.cooldown.untilMs : undefined;
    case 'probing':
      return obstacle.limitOnly ? obstacle.freeAtMs : undefined;
    case 'busy':
      return 'any_moment';
    case 'tried':
      // Limited when it was tried, and over by now.
      return obstacle.result === 'rate_limited' ? nowMs : undefined;
    case 'disabled':
    case 'draining':
    case 'model_not_served':
      return undefined;
    default:
      return obstacle satisfies never;
  }
}
