import { setTimeout as sleep } from 'node:timers/promises';
import type { DayRange, UsageReader } from './usage-reader.ts';

/** How long to wait for requests of which days. */
export interface Patience extends DayRange {
  /** How long to wait at most. */
  readonly waitMs: number;
  /** The caller has gone: stop. */
  readonly signal: AbortSignal;
  /** Called before each look: makes what has not arrived because it is being gathered arrive. */
  readonly flush?: (() => Promise<void>) | undefined;
}

/** Pause between two looks into the ledger. */
const pollMs = 15;

/**
 * Waits until requests are in the ledger, and gives those that were not in time. A request is recorded soon after it
 * has ended, so that this seldom waits for more than a few looks.
 */
export async function waitForRequests(
  reader: Pick<UsageReader, 'missingRequests'>,
  requestIds: readonly string[],
  { waitMs, signal, flush, ...days }: Patience,
): Promise<readonly string[]> {
  if (requestIds.length === 0) return [];
  const deadlineMs = performance.now() + waitMs;
  await flush?.();
  let missing = await reader.missingRequests(requestIds, days);
  while (missing.length > 0 && performance.now() < deadlineMs) {
    await sleep(pollMs, undefined, { signal });
    await flush?.();
    missing = await reader.missingRequests(missing, days);
  }
  return missing;
}
