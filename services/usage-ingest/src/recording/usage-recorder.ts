import { toBinary } from '@bufbuild/protobuf';
import { isRefusedData } from '@gateway/database';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { Clock } from '@gateway/time';
import type { IngestEvents } from '../ingest-events.ts';
import type { UsageLedger } from '../store/usage-ledger.ts';
import { toDeadLetter } from './dead-letter.ts';
import { type LedgerEntry, readEvent } from './ledger-entry.ts';

interface UsageRecorderParts {
  readonly ledger: UsageLedger;
  readonly clock: Clock;
  readonly events: IngestEvents;
  /** Entries in one transaction at most. */
  readonly batchEvents: number;
}

/**
 * The one way into the ledger. An event that can never be stored becomes a dead letter and does not hold up the
 * others; anything else that goes wrong is thrown, and the whole call can be repeated.
 */
export class UsageRecorder {
  readonly #parts: UsageRecorderParts;

  constructor(parts: UsageRecorderParts) {
    this.#parts = parts;
  }

  /** Stores events and gives how many were new. They are committed when it returns. */
  async record(events: readonly UsageRecorded[]): Promise<number> {
    const entries: LedgerEntry[] = [];
    for (const event of events) {
      const read = readEvent(event);
      if (read.kind === 'entry') entries.push(read.entry);
      else await this.bury(toBinary(UsageRecordedSchema, event), read.reason);
    }
    const fresh = await this.#addInBatches(entries);
    this.#parts.events.recorded(fresh, entries.length - fresh);
    return fresh;
  }

  /** Keeps bytes that can't be understood for a person to look at. */
  async bury(payload: Uint8Array, reason: string): Promise<void> {
    const { ledger, clock, events } = this.#parts;
    const letter = toDeadLetter(payload, reason, clock.nowMs());
    await ledger.addDeadLetters([letter]);
    events.buried(letter.dead_letter_id, reason);
  }

  async #addInBatches(entries: readonly LedgerEntry[]): Promise<number> {
    const { batchEvents } = this.#parts;
    let fresh = 0;
    for (let start = 0; start < entries.length; start += batchEvents) {
      fresh += await this.#add(entries.slice(start, start + batchEvents));
    }
    return fresh;
  }

  /** When the database refuses a batch for its data, finds the entry that is to blame. */
  async #add(entries: readonly LedgerEntry[]): Promise<number> {
    try {
      return await this.#parts.ledger.add(entries);
    } catch (thrown) {
      if (!isRefusedData(thrown)) throw thrown;
      const [entry] = entries;
      if (entries.length > 1) return await this.#addOneByOne(entries);
      await this.bury(Buffer.from(JSON.stringify(entry)), 'the database refuses it');
      return 0;
    }
  }

  async #addOneByOne(entries: readonly LedgerEntry[]): Promise<number> {
    let fresh = 0;
    for (const entry of entries) fresh += await this.#add([entry]);
    return fresh;
  }
}
