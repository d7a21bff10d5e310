import type { ChainedMap } from './chained-map.ts';

/** Forgets what happened at a time or before it. The map holds what happened first first. */
export function dropOlder(times: ChainedMap<number>, thanOrAtMs: number): void {
  for (let { oldest } = times; oldest !== undefined && oldest.value <= thanOrAtMs; { oldest } = times) {
    times.delete(oldest.key);
  }
}
