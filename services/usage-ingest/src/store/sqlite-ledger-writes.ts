import type { SQLTagStore } from 'node:sqlite';
import type { GatewayDatabase, RequestLogTable, TableByDay } from '@gateway/database';
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
    for (const sum of dailySums(fresh)) addSum(sql, sum);
    const firstLogged = firstKeptDay(sql, 'request_log');
    for (const log of logs) if (log.local_day >= firstLogged) insertLog(sql, log);
    return { fresh: new Set(fresh), tooOld };
  });
}

function firstKeptDay(sql: SQLTagStore, table: TableByDay): string {
  const row = sql.get`select first_day from usage_retention where table_name = ${table}`;
  return String(row?.first_day ?? '');
}

/** False when the entry already existed. */
function insertEntry(sql: SQLTagStore, entry: LedgerEntry): boolean {
  const { request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, account_id } = entry;
  const { input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome } = entry;
  const { changes } = sql.run`
    insert into usage_events
      (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, account_id,
       input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome)
    values
      (${request_id}, ${token_id}, ${admitted_at_ms}, ${local_day}, ${endpoint}, ${provider}, ${model}, ${account_id},
       ${input_tokens}, ${cached_tokens}, ${output_tokens}, ${reasoning_tokens}, ${estimated}, ${outcome})
    on conflict (local_day, request_id) do nothing`;
  return Number(changes) > 0;
}

/** A sum without an account is the sum over all accounts. */
function addSum(sql: SQLTagStore, sum: DailySum): void {
  const { token_id, local_day, provider, model, account_id } = sum;
  const { requests, input_tokens, cached_tokens, output_tokens } = sum;
  if (account_id === '') {
    sql.run`
      insert into usage_daily
        (token_id, local_day, provider, model, requests, input_tokens, cached_tokens, output_tokens)
      values
        (${token_id}, ${local_day}, ${provider}, ${model}, ${requests}, ${input_tokens}, ${cached_tokens}, ${output_tokens})
      on conflict (token_id, local_day, provider, model) do update set
        requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
        cached_tokens = cached_tokens + excluded.cached_tokens, output_tokens = output_tokens + excluded.output_tokens`;
    return;
  }
  sql.run`
    insert into usage_daily_by_account
      (token_id, local_day, provider, model, account_id, requests, input_tokens, cached_tokens, output_tokens)
    values
      (${token_id}, ${local_day}, ${provider}, ${model}, ${account_id},
       ${requests}, ${input_tokens}, ${cached_tokens}, ${output_tokens})
    on conflict (token_id, local_day, provider, model, account_id) do update set
      requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
      cached_tokens = cached_tokens + excluded.cached_tokens, output_tokens = output_tokens + excluded.output_tokens`;
}

function insertLog(sql: SQLTagStore, log: RequestLogTable): void {
  const { request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry } = log;
  const { status, endpoint, accounts, client_request_id, logged_at_ms } = log;
  sql.run`
    insert into request_log
      (request_id, local_day, token_id, received_at_ms, ending, moved, slow, models, entry,
       status, endpoint, accounts, client_request_id, logged_at_ms)
    values
      (${request_id}, ${local_day}, ${token_id}, ${received_at_ms}, ${ending}, ${moved}, ${slow}, ${models}, ${entry},
       ${status}, ${endpoint}, ${accounts}, ${client_request_id}, ${logged_at_ms})
    on conflict (local_day, request_id) do nothing`;
}
