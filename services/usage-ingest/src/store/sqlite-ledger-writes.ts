import type { SQLInputValue, SQLTagStore } from 'node:sqlite';
import {
  type GatewayDatabase,
  keyColumns,
  type RequestLogTable,
  summedColumns,
  type TableByDay,
} from '@gateway/database';
import { writeToSqlite } from '@gateway/database/sqlite';
import { type DailySum, dailySums, type LedgerEntry, type RecordedBatch } from '../recording/ledger-entry.ts';

/** Stores entries with their sums, each once: in one transaction, row by row. */
export function recordInSqlite(database: GatewayDatabase, entries: readonly LedgerEntry[]): Promise<RecordedBatch> {
  return writeToSqlite(database, (sql) => {
    const firstKept = firstKeptDay(sql, 'usage_events');
    const tooOld = new Set(entries.filter(({ local_day }) => local_day < firstKept));
    const fresh = entries.filter((entry) => !tooOld.has(entry) && insertEntry(sql, entry));
    for (const sum of dailySums(fresh)) addSum(sql, sum);
    return { fresh: new Set(fresh), tooOld };
  });
}

/** Stores rows of the request log, each once. */
export function logInSqlite(database: GatewayDatabase, logs: readonly RequestLogTable[]): Promise<void> {
  return writeToSqlite(database, (sql) => {
    const firstKept = firstKeptDay(sql, 'request_log');
    for (const log of logs) if (log.local_day >= firstKept) insertLog(sql, log);
  });
}

function firstKeptDay(sql: SQLTagStore, table: TableByDay): string {
  const row = sql.get`select first_day from usage_retention where table_name = ${table}`;
  return String(row?.first_day ?? '');
}

const once = 'on conflict (local_day, request_id) do nothing';

const insertEntry = insertionOf<LedgerEntry>('usage_events', once);

const insertLog = insertionOf<RequestLogTable>('request_log', once);

const addSum = insertionOf<DailySum>(
  'usage_daily',
  `on conflict (${keyColumns.join(', ')})
   do update set ${summedColumns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`,
);

/**
 * Inserts a row; returns false when it already existed and has not changed. All rows of a table
 * have the same columns.
 */
function insertionOf<Row extends Readonly<Record<keyof Row, SQLInputValue>>>(
  table: string,
  onConflict: string,
): (sql: SQLTagStore, row: Row) => boolean {
  const prepare = (row: Row) => {
    const names = Object.keys(row) as (keyof Row)[];
    const start = `insert into ${table} (${names.join(', ')}) values (`;
    const parts = [start, ...names.slice(1).map(() => ', '), `) ${onConflict}`];
    return { names, statement: Object.assign(parts, { raw: parts }) };
  };
  let prepared: ReturnType<typeof prepare> | undefined;
  return (sql, row) => {
    prepared ??= prepare(row);
    const { names, statement } = prepared;
    return Number(sql.run(statement, ...names.map((name) => row[name])).changes) > 0;
  };
}
