import { toBinary } from '@bufbuild/protobuf';
import {
  type Database,
  type DeadLettersTable,
  type EventDays,
  eventDaysOf,
  firstKeptDay,
  type GatewayDatabase,
  isPostgres,
  keyColumns,
  type RequestLogTable,
  type SummedColumn,
  summedColumns,
  withSerializationRetry,
} from '@gateway/database';
import { type RequestRecorded, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { epochMs, localDayOf } from '@gateway/time';
import { type InsertObject, type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import {
  addUp,
  type DailySum,
  dailySums,
  type LedgerEntry,
  negative,
  type RecordedBatch,
} from '../recording/ledger-entry.ts';
import { logInSqlite, recordInSqlite } from './sqlite-ledger-writes.ts';

/**
 * The ledger with its daily sums, and the request log. Ledger and sums always agree, because both
 * change in one transaction.
 */
export class UsageLedger {
  readonly database: GatewayDatabase;
  readonly days: EventDays;
  readonly logDays: EventDays;

  constructor(database: GatewayDatabase) {
    this.database = database;
    this.days = eventDaysOf(database);
    this.logDays = eventDaysOf(database, 'request_log');
  }

  /** Stores entries, each once; storing them again changes nothing. */
  async add(entries: readonly LedgerEntry[]): Promise<RecordedBatch> {
    if (entries.length === 0) return { fresh: new Set(), tooOld: new Set() };
    const recorded = isPostgres(this.database)
      ? await this.transaction(entries, (transaction) => addEntries(transaction, entries))
      : await recordInSqlite(this.database, entries);
    return await this.#withoutEstimates(entries, recorded);
  }

  /**
   * Stores entries of the request log, each once. It leaves out those of days that are no longer
   * kept, and those without an id or a time.
   */
  async addLogs(logs: readonly RequestRecorded[]): Promise<void> {
    const rows = logs.flatMap(toLogRow).sort((a, b) => (a.request_id < b.request_id ? -1 : 1));
    if (rows.length === 0) return;
    if (!isPostgres(this.database)) return await logInSqlite(this.database, rows);
    await this.logDays.insertInto(daysOf(rows), async () => {
      const firstKept = await firstKeptDay(this.database, 'request_log');
      const kept = rows.filter(({ local_day }) => local_day >= firstKept);
      if (kept.length === 0) return;
      await insertionOf(this.database, 'request_log', kept, logInPostgres)
        .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
        .execute();
    });
  }

  /**
   * Runs a transaction that adds entries, after creating the storage of their days; repeats it
   * after a conflict.
   */
  async transaction<T>(
    entries: readonly LedgerEntry[],
    work: (transaction: Transaction<Database>) => Promise<T>,
  ): Promise<T> {
    return await this.days.insertInto(daysOf(entries), () =>
      withSerializationRetry(() => this.database.transaction().execute(work)),
    );
  }

  /** Keeps a message that can't be parsed; an existing letter stays as it is. */
  async addDeadLetter(letter: DeadLettersTable): Promise<void> {
    await this.database
      .insertInto('dead_letters')
      .values(letter)
      .onConflict((conflict) => conflict.column('dead_letter_id').doNothing())
      .execute();
  }

  /**
   * The end of a request, with the provider's own counts, replaces an estimate. Both exist if an
   * edge died after it had sent the end: the next one finds the request in the outbox, as it was
   * before its end. The ledger may get that message first if it had refused the other for a while.
   */
  async #withoutEstimates(entries: readonly LedgerEntry[], recorded: RecordedBatch): Promise<RecordedBatch> {
    const { fresh, tooOld } = recorded;
    const ends = entries.filter((entry) => entry.estimated === 0 && !fresh.has(entry) && !tooOld.has(entry));
    if (ends.length > 0) await this.transaction(ends, (transaction) => replaceEstimates(transaction, ends));
    return recorded;
  }
}

/**
 * Adds entries with their sums, each once, and returns those that are new. If several have the same
 * id, the first counts. Entries of days that are no longer kept are too old, because they may
 * already have been counted; the remaining ones were already in the ledger.
 */
export async function addEntries(
  transaction: Transaction<Database>,
  entries: readonly LedgerEntry[],
): Promise<RecordedBatch> {
  const firstKept = await firstKeptDay(transaction);
  const tooOld = new Set(entries.filter(({ local_day }) => local_day < firstKept));
  const fresh = await insertFresh(
    transaction,
    entries.filter((entry) => !tooOld.has(entry)),
  );
  await addSums(transaction, dailySums(fresh));
  return { fresh: new Set(fresh), tooOld };
}

/** Replaces estimates by the ends of their requests, with their sums. */
async function replaceEstimates(transaction: Transaction<Database>, ends: readonly LedgerEntry[]): Promise<void> {
  const estimates = await transaction
    .deleteFrom('usage_events')
    .where('estimated', '=', 1)
    .where('local_day', 'in', [...new Set(daysOf(ends))])
    .where(
      'request_id',
      'in',
      ends.map(({ request_id }) => request_id),
    )
    .returningAll()
    .execute();
  if (estimates.length === 0) return;
  const ids = new Set(estimates.map(({ request_id }) => request_id));
  const stored = await insertFresh(
    transaction,
    ends.filter(({ request_id }) => ids.has(request_id)),
  );
  await addSums(transaction, addUp([...dailySums(stored), ...dailySums(estimates).map(negative)]));
}

/** Adds to the daily sums. They are sorted by their key, so that two writers can't deadlock. */
export async function addSums(database: Kysely<Database>, sums: readonly DailySum[]): Promise<void> {
  for (let start = 0; start < sums.length; start += sumsAtATime) {
    await insertionOf(database, 'usage_daily', sums.slice(start, start + sumsAtATime))
      .onConflict((conflict) => conflict.columns(keyColumns).doUpdateSet(plusExcluded))
      .execute();
  }
}

/** SQLite takes 32,766 parameters in a statement, and a repair may concern any number of rows. */
const sumsAtATime = 1_000;

/** A row's values plus those that were to be inserted in its place. */
const plusExcluded = Object.fromEntries(
  summedColumns.map((column) => [
    column,
    sql<number>`${sql.ref(`usage_daily.${column}`)} + ${sql.ref(`excluded.${column}`)}`,
  ]),
) as Record<SummedColumn, RawBuilder<number>>;

/**
 * Inserts entries and returns those that did not exist. Every writer inserts in the order of the
 * key, to avoid deadlocks.
 */
async function insertFresh(transaction: Transaction<Database>, entries: readonly LedgerEntry[]) {
  const firstOfEach = new Map(entries.toReversed().map((entry) => [entry.request_id, entry]));
  const inOrder = [...firstOfEach.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  if (inOrder.length === 0) return [];
  const inserted = await insertionOf(transaction, 'usage_events', inOrder)
    .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
    .returning('request_id')
    .execute();
  return inserted.flatMap(({ request_id }) => firstOfEach.get(request_id) ?? []);
}

type LedgerTable = 'usage_daily' | 'usage_events' | 'request_log';

/**
 * In Postgres the rows are one parameter: thousands of parameters would take longer than storing
 * the rows. SQLite gains nothing from this.
 * @param inPostgres columns whose value Postgres computes.
 */
function insertionOf<T extends LedgerTable>(
  database: Kysely<Database>,
  table: T,
  rows: readonly InsertObject<Database, T>[],
  inPostgres: Readonly<Record<string, RawBuilder<unknown>>> = {},
) {
  const insertion = database.insertInto(table);
  if (!isPostgres(database)) return insertion.values(rows);
  const columns = Object.keys(rows[0] ?? {});
  const values = columns.map((column) => inPostgres[column] ?? sql.ref(column));
  return insertion.columns(columns as (keyof Database[T] & string)[]).expression(sql`
    select ${sql.join(values)} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows, inJson)}::json)`);
}

function keyOf({ local_day, request_id }: LedgerEntry): string {
  return `${local_day} ${request_id}`;
}

function daysOf(rows: readonly { readonly local_day: string }[]): readonly string[] {
  return rows.map(({ local_day }) => local_day);
}

/**
 * Postgres computes its own time, so that readers of the log need not compare clocks. In SQLite
 * this process is the only one.
 */
const logInPostgres = {
  logged_at_ms: sql`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
};

/** Bytes in the hexadecimal notation of Postgres, because JSON has none. */
function inJson(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value;
}

function toLogRow(log: RequestRecorded): readonly RequestLogTable[] {
  const { requestId, tokenId, receivedAtMs = 0, ending, slow, model, attempts } = log;
  if (requestId === '' || !Number.isSafeInteger(receivedAtMs) || receivedAtMs <= 0) return [];
  const row: RequestLogTable = {
    request_id: storable(requestId),
    local_day: localDayOf(receivedAtMs),
    token_id: storable(tokenId),
    received_at_ms: receivedAtMs,
    ending,
    moved: attempts.length > 1 ? 1 : 0,
    slow: slow ? 1 : 0,
    models: lines([model, ...attempts.map((attempt) => attempt.model)]),
    entry_bytes: toBinary(RequestRecordedSchema, { ...log, traceparent: '' }),
    status: log.status,
    endpoint: storable(log.endpoint),
    accounts: lines(attempts.map(({ accountId }) => accountId)),
    client_request_id: storable(log.clientRequestId),
    logged_at_ms: epochMs(),
  };
  return [row];
}

/** Each text once, enclosed in line feeds. */
function lines(texts: readonly string[]): string {
  return storable(`\n${[...new Set(texts)].join('\n')}\n`);
}

/** Postgres does not accept NUL in a text. */
function storable(text: string): string {
  return text.replaceAll('\0', '').toWellFormed();
}
