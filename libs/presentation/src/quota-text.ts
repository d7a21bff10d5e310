import type { QuotaWindow } from '@gateway/proto/pool/v1/account_pb.js';

/** "5-hour quota used up"; without a window: "no account available". */
export function usedUpText(window: string): string {
  if (window === '') return 'no account available';
  const [, count, unit = ''] = /^(\d+)([mhd])$/.exec(window) ?? [];
  return `${count === undefined ? window : `${count}-${windowUnits[unit]}`} quota used up`;
}

const windowUnits: Readonly<Record<string, string>> = { m: 'minute', h: 'hour', d: 'day' };

/**
 * When an account will have used up a quota if its usage continues at its average rate since the
 * quota began, as in the forecast of its pool. `nowMs` or earlier: it is used up. Undefined: not
 * before it resets, or its rate is unknown.
 */
export function usedUpAtMs(
  { usedFraction, resetsAtMs, lengthSeconds }: Pick<QuotaWindow, 'usedFraction' | 'resetsAtMs' | 'lengthSeconds'>,
  nowMs: number,
): number | undefined {
  if (usedFraction >= 1) return nowMs;
  if (resetsAtMs === undefined || lengthSeconds === 0) return undefined;
  const elapsedMs = nowMs - (resetsAtMs - lengthSeconds * 1_000);
  // In less time a quota does not show a rate.
  if (elapsedMs < 60_000 || usedFraction <= 0) return undefined;
  const atMs = nowMs + ((1 - usedFraction) / usedFraction) * elapsedMs;
  return atMs < resetsAtMs ? atMs : undefined;
}
