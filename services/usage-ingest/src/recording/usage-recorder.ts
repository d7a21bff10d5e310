import { createHash } from 'node:crypto';
import { toBinary } from '@bufbuild/protobuf';
import { isRefusedData } from '@gateway/database';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Clock } from '@gateway/time';
import type { IngestEvents } from '../ingest-events.ts';
import type { RequestLogStore } from '../store/request-log-store.ts';
import type { DeadLetter, UsageLedger } from '../store/usage-ledger.ts';
import { type LedgerEntry, readEvent } from './ledger-entry.ts';

interface UsageRecorderParts {
  readonly ledger: UsageLedger;
  readonly requestLog: RequestLogStore;
  readonly clock: Clock;
  readonly events: IngestEvents;
  /** Entries in one transaction at most. */
  readonly batchEvents: number;
}

export const refusedReason = 'the database refuses it';
export const tooOldReason =
  'events of its day are no longer kept (USAGE_EVENT_RETENTION_DAYS): it may have been counted already';

/**
 * The one way into the ledger. An event that can never be stored becomes a dead letter and does not hold up the
 * others; anything else that goes wrong is thrown, and the whole call can be repeated.
 */
export class UsageRecorder {
  readonly #parts: UsageRecorderParts;

  constructor(parts: UsageRecorderParts) {
    this.#parts = parts;
  }

  /** Stores events and log entries, and gives how many events were new. They are committed when it returns. */
  async record(events: readonly UsageRecorded[], logs: readonly RequestLogged[] = []): Promise<number> {
    const readable: Readable[] = [];
    for (const event of events) {
      const read = readEvent(event);
      if (read.kind === 'entry') readable.push({ event, entry: read.entry });
      else await this.#buryEvent(event, read.reason);
    }
    const result = await this.#addInBatches(readable);
    this.#parts.events.recorded(result.fresh, readable.length - result.fresh - result.buried);
    await this.#addLogs(logs);
    return result.fresh;
  }

  /** Keeps bytes that can't be understood for a person to look at. */
  async bury(payload: Uint8Array, reason: string): Promise<void> {
    const { ledger, clock, events } = this.#parts;
    const letter = toDeadLetter(payload, reason, clock.nowMs());
    await ledger.addDeadLetters([letter]);
    events.buried(letter.dead_letter_id, reason);
  }

  /** After the usage, which does not depend on it. */
  async #addLogs(logs: readonly RequestLogged[]): Promise<void> {
    const { requestLog, events, batchEvents } = this.#parts;
    for (let start = 0; start < logs.length; start += batchEvents) {
      const batch = logs.slice(start, start + batchEvents);
      try {
        await requestLog.add(batch);
      } catch (thrown) {
        if (!isRefusedData(thrown)) throw thrown;
        events.logsRefused(batch.length, thrown);
      }
    }
  }

  async #addInBatches(readable: readonly Readable[]): Promise<Result> {
    const { batchEvents } = this.#parts;
    const results: Result[] = [];
    for (let start = 0; start < readable.length; start += batchEvents) {
      results.push(await this.#add(readable.slice(start, start + batchEvents)));
    }
    return results.reduce(sumOf, nothing);
  }

  /** When the database refuses a batch for its data, finds the entry that is to blame. */
  async #add(readable: readonly Readable[]): Promise<Result> {
    try {
      const { fresh, tooOld } = await this.#parts.ledger.add(readable.map(({ entry }) => entry));
      const old = new Set(tooOld);
      const late = readable.filter(({ entry }) => old.has(entry));
      for (const { event } of late) await this.#buryEvent(event, tooOldReason);
      return { fresh, buried: late.length };
    } catch (thrown) {
      if (!isRefusedData(thrown)) throw thrown;
      const [first] = readable;
      if (readable.length > 1 || first === undefined) return await this.#addOneByOne(readable);
      await this.#buryEvent(first.event, refusedReason);
      return { fresh: 0, buried: 1 };
    }
  }

  async #addOneByOne(readable: readonly Readable[]): Promise<Result> {
    const results: Result[] = [];
    for (const each of readable) results.push(await this.#add([each]));
    return results.reduce(sumOf, nothing);
  }

  async #buryEvent(event: UsageRecorded, reason: string): Promise<void> {
    await this.bury(toBinary(UsageRecordedSchema, event), reason);
  }
}

/** An event with what the ledger keeps of it. */
interface Readable {
  readonly event: UsageRecorded;
  readonly entry: LedgerEntry;
}

interface Result {
  readonly fresh: number;
  readonly buried: number;
}

const nothing: Result = { fresh: 0, buried: 0 };

function sumOf(a: Result, b: Result): Result {
  return { fresh: a.fresh + b.fresh, buried: a.buried + b.buried };
}

/** Bytes that can't be understood, ready to be kept. */
export function toDeadLetter(payload: Uint8Array, reason: string, nowMs: number): DeadLetter {
  return {
    dead_letter_id: createHash('sha256').update(payload).digest('hex'),
    received_at_ms: nowMs,
    reason,
    payload: Buffer.from(payload).toString('base64'),
  };
}
