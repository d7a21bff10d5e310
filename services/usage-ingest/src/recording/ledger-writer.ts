import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { type DeadLettersTable, isRefusedData } from '@gateway/database';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { activeSpan, failSpan, type Logger, type Span, startSpan } from '@gateway/telemetry';
import { epochMs } from '@gateway/time';
import type { IngestMetrics } from '../metrics.ts';
import type { UsageLedger } from '../store/usage-ledger.ts';
import { type LedgerEntry, readRecord } from './ledger-entry.ts';
import { LogBatches } from './log-batches.ts';

interface LedgerWriterParts {
  readonly ledger: UsageLedger;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
  /** The maximum number of requests in one transaction. */
  readonly batchEvents: number;
}

export const refusedReason = 'the database rejects it';
const emptyReason = 'it has neither usage nor an entry of the request log';
export const tooOldReason =
  'events of its day are no longer kept (USAGE_EVENT_RETENTION_DAYS), so it may already be counted';

/**
 * The only way into the ledger. A request record that can never be stored becomes a dead letter and
 * does not hold up the others. Any other failure is thrown, and the whole call can be repeated.
 */
export class LedgerWriter {
  /** The request log, which follows later. Its owner disposes it. */
  readonly logs: LogBatches;
  readonly #parts: LedgerWriterParts;

  constructor(parts: LedgerWriterParts) {
    this.#parts = parts;
    this.logs = new LogBatches(parts);
  }

  /**
   * Stores requests and returns how many were new. They are committed when it returns; the request
   * log is stored in later batches.
   */
  async record(requests: readonly RequestRecorded[]): Promise<number> {
    const spans = startSpans(requests);
    try {
      const { batchEvents } = this.#parts;
      const readable: Readable[] = [];
      for (const record of requests) {
        const entries = readRecord(record);
        if (typeof entries === 'string') await this.#buryRecord(record, entries);
        else if (entries.length > 0) readable.push({ record, entries });
        else if (record.receivedAtMs === undefined) await this.#buryRecord(record, emptyReason);
      }
      let count = 0;
      for (let start = 0; start < readable.length; start += batchEvents) {
        count += await this.#add(readable.slice(start, start + batchEvents));
      }
      await this.logs.add(requests.filter(({ receivedAtMs }) => receivedAtMs !== undefined));
      return count;
    } catch (thrown) {
      for (const span of spans) failSpan(span, thrown);
      throw thrown;
    } finally {
      for (const span of spans) span.end();
    }
  }

  /** Keeps bytes that can't be parsed, for inspection. */
  async bury(payload: Uint8Array, reason: string): Promise<void> {
    const { ledger, metrics, logger } = this.#parts;
    const letter = toDeadLetter(payload, reason, epochMs());
    await ledger.addDeadLetter(letter);
    metrics.events.inc({ result: 'dead_letter' });
    logger.error({ dead_letter_id: letter.dead_letter_id, reason }, 'usage cannot be recorded: moved to dead_letters');
  }

  /**
   * Returns how many requests were new. When the database rejects several because of their data, it
   * finds the one that is at fault.
   */
  async #add(batch: readonly Readable[]): Promise<number> {
    const { ledger, metrics } = this.#parts;
    let count = 0;
    try {
      const { fresh, tooOld } = await ledger.add(batch.flatMap(({ entries }) => entries));
      for (const { record, entries } of batch) {
        if (entries.some((entry) => tooOld.has(entry))) {
          await this.#buryRecord(record, tooOldReason);
        } else if (entries.some((entry) => fresh.has(entry))) {
          metrics.events.inc({ result: 'recorded' });
          this.#observeAge(record);
          count += 1;
        } else metrics.events.inc({ result: 'repeated' });
      }
    } catch (thrown) {
      if (!isRefusedData(thrown)) throw thrown;
      if (batch.length > 1) for (const each of batch) count += await this.#add([each]);
      else for (const { record } of batch) await this.#buryRecord(record, refusedReason);
    }
    return count;
  }

  #observeAge({ endedAtMs, traceparent }: RequestRecorded): void {
    if (endedAtMs === undefined) return;
    const { metrics } = this.#parts;
    metrics.eventAges.observe({}, Math.max(0, epochMs() - endedAtMs) / 1_000, traceparent);
  }

  async #buryRecord(record: RequestRecorded, reason: string): Promise<void> {
    await this.bury(toBinary(RequestRecordedSchema, record), reason);
  }
}

/** A request with usage, and its entries: one for each attempt that used something. */
interface Readable {
  readonly record: RequestRecorded;
  readonly entries: readonly LedgerEntry[];
}

/**
 * Starts a span for the row of each sampled request, where a batch of messages is processed. Those
 * that come directly from the edge need none: the edge's span `settle` waits for them.
 */
function startSpans(requests: readonly RequestRecorded[]): readonly Span[] {
  if (activeSpan() === undefined) return [];
  const sampled = requests.filter(({ traceparent }) => traceparent !== '');
  return sampled.map(({ traceparent }) => startSpan('record', { traceparent }));
}

/** Converts bytes that can't be parsed to a dead letter. */
export function toDeadLetter(payload: Uint8Array, reason: string, nowMs: number): DeadLettersTable {
  return {
    dead_letter_id: createHash('sha256').update(payload).digest('hex'),
    received_at_ms: nowMs,
    reason,
    payload: Buffer.from(payload).toString('base64'),
  };
}
