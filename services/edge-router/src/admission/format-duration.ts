/**
 * A duration in Go's style, rounded up to whole seconds: `42s`, `1m0s`, `7h49m35s`; `0s` when there is nothing to
 * wait for. @see spec "Rate-limit headers"
 */
export function formatDuration(durationMs: number): string {
  const seconds = Math.max(0, Math.ceil(durationMs / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
