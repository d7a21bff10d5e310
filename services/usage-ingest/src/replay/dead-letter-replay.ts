import { fromBinary } from '@bufbuild/protobuf';
import { firstKeptDay, isRefusedData, withSerializationRetry } from '@gateway/database';
import { type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { fromUsageMessage } from '@gateway/usage-stream';
import { type LedgerEntry, readEvent } from '../recording/ledger-entry.ts';
import { refusedReason, tooOldReason } from '../recording/usage-recorder.ts';
import { addEntries, type DeadLetter, type LedgerParts } from '../store/usage-ledger.ts';

/** What became of one page of letters. */
export interface ReplayedPage {
  /** Letters with an event that was new to the ledger. */
  readonly replayed: number;
  /** Letters whose events the ledger had. */
  readonly duplicates: number;
  readonly stillDead: readonly { readonly letter: DeadLetter; readonly reason: string }[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

export interface ReplayOptions {
  readonly dryRun: boolean;
  /** `next` of the page before; empty for the first. */
  readonly after: string;
}

const lettersAtATime = 200;

/** Reads dead letters again, as this release does, and records those that it understands. */
export class DeadLetterReplay {
  readonly #ledger: LedgerParts;

  constructor(ledger: LedgerParts) {
    this.#ledger = ledger;
  }

  async page({ dryRun, after }: ReplayOptions): Promise<ReplayedPage> {
    const letters = await this.#ledger.database
      .selectFrom('dead_letters')
      .selectAll()
      .where('dead_letter_id', '>', after)
      .orderBy('dead_letter_id')
      .limit(lettersAtATime)
      .execute();
    const page = { replayed: 0, duplicates: 0, stillDead: [] as { letter: DeadLetter; reason: string }[] };
    for (const letter of letters) {
      const outcome = await this.#replay(letter, dryRun);
      if (typeof outcome === 'string') page.stillDead.push({ letter, reason: outcome });
      else if (outcome !== undefined) page[outcome > 0 ? 'replayed' : 'duplicates'] += 1;
    }
    return { ...page, next: letters.length === lettersAtATime ? letters.at(-1)?.dead_letter_id : undefined };
  }

  /** How many of a letter's events are new, or why it stays; undefined when it is gone already. */
  async #replay(letter: DeadLetter, dryRun: boolean): Promise<number | string | undefined> {
    const events = readLetter(Buffer.from(letter.payload, 'base64'));
    if (typeof events === 'string') return events;
    try {
      return await (dryRun ? this.#rehearse(events) : this.#record(letter.dead_letter_id, events));
    } catch (thrown) {
      if (thrown instanceof TooOld) return tooOldReason;
      if (isRefusedData(thrown)) return refusedReason;
      throw thrown;
    }
  }

  /** Records what a letter says and deletes it, both or none. The letter goes first: another replay of it waits, and then finds it gone. */
  #record(deadLetterId: string, entries: readonly LedgerEntry[]): Promise<number | undefined> {
    const { database, days } = this.#ledger;
    const recording = () =>
      database.transaction().execute(async (transaction) => {
        const { numDeletedRows } = await transaction
          .deleteFrom('dead_letters')
          .where('dead_letter_id', '=', deadLetterId)
          .executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) return undefined;
        const { fresh, tooOld } = await addEntries(transaction, entries);
        if (tooOld.length > 0) throw new TooOld();
        return fresh;
      });
    const localDays = entries.map(({ local_day }) => local_day);
    return days.insertInto(localDays, () => withSerializationRetry(recording));
  }

  /** What `#record` would do now. */
  async #rehearse(entries: readonly LedgerEntry[]): Promise<number> {
    const { database } = this.#ledger;
    const firstKept = await firstKeptDay(database);
    if (entries.some(({ local_day }) => local_day < firstKept)) throw new TooOld();
    const localDays = entries.map(({ local_day }) => local_day);
    const ids = new Set(entries.map(({ request_id }) => request_id));
    const present = await database
      .selectFrom('usage_events')
      .select('request_id')
      .where('local_day', 'in', localDays)
      .where('request_id', 'in', [...ids])
      .execute();
    for (const { request_id } of present) ids.delete(request_id);
    return ids.size;
  }
}

/** Ends a transaction of which nothing may stay: an entry's day is no longer kept. */
class TooOld extends Error {
  override readonly name = 'TooOld';
}

const notAnEvent = 'the bytes are no usage event';

/** A letter's bytes are one event, or a message of the stream with several. All of them must be fit to be recorded, else says why not. */
function readLetter(payload: Uint8Array): readonly LedgerEntry[] | string {
  const readings = [() => [fromBinary(UsageRecordedSchema, payload)], () => fromUsageMessage(payload).events].map(
    entriesOf,
  );
  return (
    readings.find((reading) => typeof reading !== 'string') ??
    readings.find((reading) => reading !== notAnEvent) ??
    notAnEvent
  );
}

function entriesOf(parse: () => readonly UsageRecorded[]): readonly LedgerEntry[] | string {
  const entries: LedgerEntry[] = [];
  try {
    for (const event of parse()) {
      const read = readEvent(event);
      if (read.kind === 'unusable') return isEmpty(event) ? notAnEvent : read.reason;
      entries.push(read.entry);
    }
  } catch {
    return notAnEvent;
  }
  return entries;
}

/** Bytes of something else can pass as an event of which nothing is known. */
function isEmpty({ requestId, tokenId, localDay }: UsageRecorded): boolean {
  return requestId === '' && tokenId === '' && localDay === '';
}
