/** Forgets what happened at a time or before it. The map holds what happened first first. */
export function dropOlder(times: Map<string, number>, thanOrAtMs: number): void {
  for (const [id, timeMs] of times) {
    if (timeMs > thanOrAtMs) return;
    times.delete(id);
  }
}
