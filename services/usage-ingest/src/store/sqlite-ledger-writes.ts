import type { SQLInputValue, SQLTagStore } from 'node:sqlite';
import {
  type GatewayDatabase,
  type RequestLogTable,
  type SummedColumn,
  summedColumns,
  type TableByDay,
} from '@gateway/database';
import { writeToSqlite } from '@gateway/database/sqlite';
import { type DailySum, dailySums, type LedgerEntry, type RecordedBatch } from '../recording/ledger-entry.ts';

/**
 * Stores entries with their sums, and rows of the request log, each once: in one transaction, row
 * by row.
 */
export function recordInSqlite(
  database: GatewayDatabase,
  entries: readonly LedgerEntry[],
  logs: readonly RequestLogTable[],
): Promise<RecordedBatch> {
  return writeToSqlite(database, (sql) => {
    const firstKept = firstKeptDay(sql, 'usage_events');
    const tooOld = new Set(entries.filter(({ local_day }) => local_day < firstKept));
    const fresh = entries.filter((entry) => !tooOld.has(entry) && insertEntry(sql, entry));
    for (const sum of dailySums(fresh)) additionOf(sum)(sql, sum);
    const firstLogged = firstKeptDay(sql, 'request_log');
    for (const log of logs) if (log.local_day >= firstLogged) insertLog(sql, log);
    return { fresh: new Set(fresh), tooOld };
  });
}

/** A sum with neither an account nor a group is the sum over all of them. */
function additionOf({ account_id, group_id }: DailySum) {
  if (group_id !== '') return addSumOfGroup;
  return account_id === '' ? addTotal : addSumOfAccount;
}

function firstKeptDay(sql: SQLTagStore, table: TableByDay): string {
  const row = sql.get`select first_day from usage_retention where table_name = ${table}`;
  return String(row?.first_day ?? '');
}

const once = 'on conflict (local_day, request_id) do nothing';

const insertEntry = insertionOf<LedgerEntry>('usage_events', once, {
  request_id: true,
  token_id: true,
  admitted_at_ms: true,
  local_day: true,
  endpoint: true,
  provider: true,
  model: true,
  account_id: true,
  group_id: true,
  input_tokens: true,
  cached_tokens: true,
  cache_write_5m_tokens: true,
  cache_write_1h_tokens: true,
  output_tokens: true,
  reasoning_tokens: true,
  estimated: true,
  outcome: true,
  cost_micros: true,
});

const insertLog = insertionOf<RequestLogTable>('request_log', once, {
  request_id: true,
  local_day: true,
  token_id: true,
  received_at_ms: true,
  ending: true,
  moved: true,
  slow: true,
  models: true,
  entry: true,
  status: true,
  endpoint: true,
  accounts: true,
  client_request_id: true,
  logged_at_ms: true,
});

type Total = Omit<DailySum, 'account_id' | 'group_id'>;

const columnsOfTotal = {
  token_id: true,
  local_day: true,
  provider: true,
  model: true,
  ...(Object.fromEntries(summedColumns.map((column) => [column, true])) as Record<SummedColumn, true>),
} as const;

const addition = `do update set ${summedColumns.map((column) => `${column} = ${column} + excluded.${column}`).join(', ')}`;

const addTotal = insertionOf<Total>(
  'usage_daily',
  `on conflict (token_id, local_day, provider, model) ${addition}`,
  columnsOfTotal,
);

const addSumOfAccount = insertionOf<Omit<DailySum, 'group_id'>>(
  'usage_daily_by_account',
  `on conflict (token_id, local_day, provider, model, account_id) ${addition}`,
  { ...columnsOfTotal, account_id: true },
);

const addSumOfGroup = insertionOf<Omit<DailySum, 'account_id'>>(
  'usage_daily_by_group',
  `on conflict (group_id, local_day, token_id, provider, model) ${addition}`,
  { ...columnsOfTotal, group_id: true },
);

/**
 * Inserts a row; returns false when it already existed and has not changed. A column that is
 * missing in `columns` would not be stored, so its type requires all of them.
 */
function insertionOf<Row extends Readonly<Record<keyof Row, SQLInputValue>>>(
  table: string,
  onConflict: string,
  columns: Readonly<Record<keyof Row, true>>,
): (sql: SQLTagStore, row: Row) => boolean {
  const names = Object.keys(columns) as (keyof Row)[];
  const start = `insert into ${table} (${names.join(', ')}) values (`;
  const parts = [start, ...names.slice(1).map(() => ', '), `) ${onConflict}`];
  const statement = Object.assign(parts, { raw: parts });
  return (sql, row) => Number(sql.run(statement, ...names.map((name) => row[name])).changes) > 0;
}
