import { toBinary } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import {
  type Database,
  type DeadLettersTable,
  type EventDays,
  firstKeptDay,
  type GatewayDatabase,
  isPostgres,
  withSerializationRetry,
} from '@gateway/database';
import { type RequestLogged, RequestLoggedSchema } from '@gateway/proto/usage/v1/request_log_pb.js';
import { localDayOf } from '@gateway/time';
import { type Kysely, sql, type Transaction } from 'kysely';
import { type DailySum, dailySums, type LedgerEntry } from '../recording/ledger-entry.ts';

export type DeadLetter = DeadLettersTable;

export interface LedgerParts {
  readonly database: GatewayDatabase;
  /** The days of the table that is written. */
  readonly days: EventDays;
}

/** What became of entries. The others were in the ledger already. */
export interface Added {
  readonly fresh: number;
  /** Of days that are no longer kept: they may have been counted already. They are not added. */
  readonly tooOld: readonly LedgerEntry[];
}

/** The ledger and its daily sums, in SQLite or Postgres. They always agree: both change in one transaction. */
export class UsageLedger {
  readonly #parts: LedgerParts;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Stores entries, each once. Adding them again changes nothing. */
  async add(entries: readonly LedgerEntry[]): Promise<Added> {
    if (entries.length === 0) return { fresh: 0, tooOld: [] };
    const { database, days } = this.#parts;
    const add = () => database.transaction().execute((transaction) => addEntries(transaction, entries));
    const localDays = entries.map(({ local_day }) => local_day);
    return await days.insertInto(localDays, () => withSerializationRetry(add));
  }

  /** Keeps what can't be understood; a letter that is there already stays as it is. */
  async addDeadLetters(letters: readonly DeadLetter[]): Promise<void> {
    if (letters.length === 0) return;
    await this.#parts.database
      .insertInto('dead_letters')
      .values([...letters])
      .onConflict((conflict) => conflict.column('dead_letter_id').doNothing())
      .execute();
  }
}

/** The log of what became of requests, in SQLite or Postgres. */
export class RequestLogStore {
  readonly #parts: LedgerParts;

  /** With the days of `request_log`. */
  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** Stores entries, each once. Those of days that are no longer kept, and those without an id or a time, are left out. */
  async add(logs: readonly RequestLogged[]): Promise<void> {
    const rows = logs.flatMap((log) => toRow(log) ?? []);
    if (rows.length === 0) return;
    const { database, days } = this.#parts;
    const localDays = rows.map(({ local_day }) => local_day);
    await days.insertInto(localDays, async () => {
      const firstKept = await firstKeptDay(database, 'request_log');
      const kept = rows.filter(({ local_day }) => local_day >= firstKept);
      if (kept.length === 0) return;
      await database
        .insertInto('request_log')
        .values(kept.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1)))
        .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
        .execute();
    });
  }
}

/** Adds entries, each once, with their sums. Of several with one id the first counts. */
export async function addEntries(transaction: Transaction<Database>, entries: readonly LedgerEntry[]): Promise<Added> {
  const firstKept = await firstKeptDay(transaction);
  const tooOld = entries.filter(({ local_day }) => local_day < firstKept);
  const kept = firstOfEachRequest(entries).filter(({ local_day }) => local_day >= firstKept);
  const fresh = await insertFresh(transaction, kept);
  await addSums(transaction, dailySums(fresh));
  return { fresh: fresh.length, tooOld };
}

/** Adds to the daily sums. Rows come in the order of their key, so that two writers can't wait for each other. */
export async function addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void> {
  if (sums.length === 0) return;
  await database
    .insertInto('usage_daily')
    .values([...sums])
    .onConflict((conflict) =>
      conflict.columns(['token_id', 'local_day', 'provider', 'model']).doUpdateSet(({ eb, ref }) => ({
        requests: eb('usage_daily.requests', '+', ref('excluded.requests')),
        input_tokens: eb('usage_daily.input_tokens', '+', ref('excluded.input_tokens')),
        cached_tokens: eb('usage_daily.cached_tokens', '+', ref('excluded.cached_tokens')),
        output_tokens: eb('usage_daily.output_tokens', '+', ref('excluded.output_tokens')),
      })),
    )
    .execute();
}

/** Inserts entries and gives those that were not there. Every writer inserts in the order of the key, as above. */
async function insertFresh(transaction: Transaction<Database>, entries: readonly LedgerEntry[]) {
  if (entries.length === 0) return [];
  const inOrder = entries.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const inserted = await insertionOf(transaction, inOrder)
    .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
    .returning('request_id')
    .execute();
  const ids = new Set(inserted.map(({ request_id }) => request_id));
  return entries.filter(({ request_id }) => ids.has(request_id));
}

/** In Postgres the rows are one parameter: thousands of them would take it longer than storing the rows. */
function insertionOf(transaction: Transaction<Database>, entries: readonly LedgerEntry[]) {
  const insertion = transaction.insertInto('usage_events');
  if (!isPostgres(transaction)) return insertion.values([...entries]);
  const names = sql.join(columns.map((column) => sql.ref(column)));
  const rows = sql`json_populate_recordset(null::usage_events, ${JSON.stringify(entries)}::json)`;
  return insertion.columns(columns).expression(sql`select ${names} from ${rows}`);
}

const columns = [
  'request_id',
  'token_id',
  'admitted_at_ms',
  'local_day',
  'endpoint',
  'provider',
  'model',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'estimated',
  'outcome',
] as const satisfies (keyof LedgerEntry)[];

function keyOf({ local_day, request_id }: LedgerEntry): string {
  return `${local_day} ${request_id}`;
}

function firstOfEachRequest(entries: readonly LedgerEntry[]): readonly LedgerEntry[] {
  const byRequest = new Map<string, LedgerEntry>();
  for (const entry of entries) if (!byRequest.has(entry.request_id)) byRequest.set(entry.request_id, entry);
  return [...byRequest.values()];
}

function toRow(log: RequestLogged): Database['request_log'] | undefined {
  const { requestId, tokenId, receivedAt, ending, moved, slow, model, attempts } = log;
  const receivedAtMs = receivedAt === undefined ? Number.NaN : timestampMs(receivedAt);
  if (requestId === '' || !Number.isSafeInteger(receivedAtMs) || receivedAtMs < 0) return undefined;
  const models = new Set([model, ...attempts.map((attempt) => attempt.model)]);
  return {
    request_id: storable(requestId),
    local_day: localDayOf(receivedAtMs),
    token_id: storable(tokenId),
    received_at_ms: receivedAtMs,
    ending,
    moved: moved ? 1 : 0,
    slow: slow ? 1 : 0,
    models: storable(`\n${[...models].join('\n')}\n`),
    entry: Buffer.from(toBinary(RequestLoggedSchema, log)).toString('base64'),
  };
}

/** Postgres takes no NUL in a text. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
