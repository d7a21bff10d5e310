import type { EventDays } from '@gateway/database';
import type { Logger } from '@gateway/telemetry';
import { addLocalDays, epochMs, localDayOf, sleep } from '@gateway/time';
import type { IngestMetrics } from '../metrics.ts';

export interface DaysToTend {
  readonly days: EventDays;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
  /** How many days before today keep their events; 0: all. */
  readonly retentionDays: number;
  readonly signal: AbortSignal;
}

/** How many days are created in advance: longer than an outage can go unnoticed. */
const daysAhead = 3;
const intervalMs = 3_600_000;
const retryMs = 60_000;

/**
 * Once an hour, creates the storage of coming days and removes days whose retention has ended.
 * Never throws.
 */
export async function tendDays(parts: DaysToTend): Promise<void> {
  const { metrics, logger, signal } = parts;
  while (!signal.aborted) {
    let pauseMs = intervalMs;
    try {
      await tendDaysOnce(parts);
    } catch (thrown) {
      if (signal.aborted) return;
      pauseMs = retryMs;
      metrics.retentionFailures.inc();
      logger.warn({ err: thrown }, 'day partitions of the ledger could not be created or removed; retrying');
    }
    await sleep(pauseMs, { signal, ref: false }).catch(() => undefined);
  }
}

export async function tendDaysOnce({ days, metrics, logger, retentionDays, signal }: DaysToTend): Promise<void> {
  const today = localDayOf(epochMs());
  await days.open(Array.from({ length: daysAhead + 1 }, (_, ahead) => addLocalDays(today, ahead)));
  if (retentionDays === 0) return;
  const removed = await days.removeBefore(addLocalDays(today, -retentionDays), signal);
  if (removed.days === 0) return;
  metrics.removedDays.inc(removed.days);
  metrics.removedEvents.inc(removed.events);
  logger.info({ ...removed }, 'removed expired events');
}
