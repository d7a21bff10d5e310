import { fromBinary } from '@bufbuild/protobuf';
import { type DeadLettersTable, isRefusedData } from '@gateway/database';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import type { ReplayDeadLettersRequest } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { fromUsageMessage } from '@gateway/usage-stream';
import { type LedgerEntry, readRecord } from '../recording/ledger-entry.ts';
import { refusedReason, tooOldReason } from '../recording/ledger-writer.ts';
import { addEntries, type UsageLedger } from '../store/usage-ledger.ts';

const lettersAtATime = 200;

/** Replays one page of dead letters. */
export async function replayDeadLetters(ledger: UsageLedger, { dryRun, pageToken }: ReplayDeadLettersRequest) {
  const letters = await ledger.database
    .selectFrom('dead_letters')
    .selectAll()
    .where('dead_letter_id', '>', pageToken)
    .orderBy('dead_letter_id')
    .limit(lettersAtATime)
    .execute();
  const page = { replayed: 0, duplicates: 0 };
  const stillDead = [];
  for (const letter of letters) {
    const outcome = await replayLetter(ledger, letter, dryRun);
    if (typeof outcome === 'string') {
      const { dead_letter_id: deadLetterId, received_at_ms } = letter;
      stillDead.push({ deadLetterId, receivedAtMs: received_at_ms, reason: outcome });
    } else if (outcome !== undefined) page[outcome > 0 ? 'replayed' : 'duplicates'] += 1;
  }
  const last = letters.length === lettersAtATime ? letters.at(-1) : undefined;
  return { ...page, stillDead, nextPageToken: last?.dead_letter_id ?? '' };
}

/**
 * Parses a dead letter with this release, records its content and deletes it, in one transaction.
 *
 * @returns how many of its entries are new to the ledger, or why the letter stays; undefined when
 *   it is already gone.
 */
async function replayLetter(
  ledger: UsageLedger,
  { dead_letter_id, payload }: DeadLettersTable,
  dryRun: boolean,
): Promise<number | string | undefined> {
  const entries = readLetter(Buffer.from(payload, 'base64'));
  if (typeof entries === 'string') return entries;
  try {
    return await ledger.transaction(entries, async (transaction) => {
      // The letter is deleted first: a concurrent replay of it waits, and then finds it gone.
      const deletion = transaction.deleteFrom('dead_letters').where('dead_letter_id', '=', dead_letter_id);
      const { numDeletedRows } = await deletion.executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return undefined;
      const { fresh, tooOld } = await addEntries(transaction, entries);
      if (tooOld.size > 0) throw new RolledBack(tooOldReason);
      if (dryRun) throw new RolledBack(fresh.size);
      return fresh.size;
    });
  } catch (thrown) {
    if (thrown instanceof RolledBack) return thrown.outcome;
    if (isRefusedData(thrown)) return refusedReason;
    throw thrown;
  }
}

/** Rolls a transaction back. */
class RolledBack extends Error {
  override readonly name = 'RolledBack';
  readonly outcome: number | string;

  constructor(outcome: number | string) {
    super();
    this.outcome = outcome;
  }
}

const notARecord = 'the bytes are not a request record';

/**
 * A letter's bytes are one request record, or a message of the stream with several. Returns the
 * reason unless all of them can be recorded.
 */
function readLetter(payload: Uint8Array): readonly LedgerEntry[] | string {
  const asRecord = entriesOf(() => [fromBinary(RequestRecordedSchema, payload)]);
  if (typeof asRecord !== 'string') return asRecord;
  const asMessage = entriesOf(() => fromUsageMessage(payload));
  return typeof asMessage !== 'string' || asRecord === notARecord ? asMessage : asRecord;
}

function entriesOf(parse: () => readonly RequestRecorded[]): readonly LedgerEntry[] | string {
  const entries: LedgerEntry[] = [];
  try {
    for (const record of parse()) {
      const read = readRecord(record);
      if (typeof read === 'string') return read;
      entries.push(...read);
    }
  } catch {
    return notARecord;
  }
  // Unrelated bytes can parse as a request without usage.
  return entries.length === 0 ? notARecord : entries;
}
