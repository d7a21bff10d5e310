import type { RequestLogTable } from '@gateway/database';
import { openTestSqlite } from '@gateway/database/testing';
import { describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../recording/ledger-entry.ts';
import { logInSqlite, recordInSqlite } from './sqlite-ledger-writes.ts';

const day = '2026-11-20';

/** Each value differs from the others, and from a column's default. */
const entry: Required<LedgerEntry> = {
  request_id: 'request-1',
  token_id: 'token-1',
  admitted_at_ms: 1,
  local_day: day,
  endpoint: '/v1/messages',
  provider: 'provider-1',
  model: 'model-1',
  input_tokens: 2,
  cached_tokens: 3,
  output_tokens: 4,
  reasoning_tokens: 5,
  estimated: 6,
  outcome: 'completed',
  account_id: 'pool/account-1',
  group_id: 'group-1',
  cache_write_5m_tokens: 7,
  cache_write_1h_tokens: 8,
  cost_micros: 9,
  parts: '[{}]',
  unpriced_tokens: 10,
  unpriced_calls: 11,
};

const log: Required<RequestLogTable> = {
  request_id: 'request-1',
  local_day: day,
  token_id: 'token-1',
  received_at_ms: 1,
  ending: 2,
  moved: 3,
  slow: 4,
  models: '\nmodel-1\n',
  entry_bytes: Uint8Array.of(1, 2),
  status: 200,
  endpoint: '/v1/messages',
  accounts: '\npool/account-1\n',
  client_request_id: 'client-1',
  logged_at_ms: 5,
};

describe('storing in SQLite', () => {
  it('stores every column of an entry, of a row of the request log, and of the sums', async () => {
    await using opened = await openTestSqlite();
    const { database } = opened;
    await recordInSqlite(database, [entry]);
    await logInSqlite(database, [log]);
    const storedIn = (table: 'usage_events' | 'request_log' | 'usage_daily') =>
      database.selectFrom(table).selectAll().execute();

    expect(await storedIn('usage_events')).toEqual([entry]);
    expect(await storedIn('request_log')).toEqual([log]);
    const { token_id, local_day, provider, model, account_id, group_id } = entry;
    const tokens = { input_tokens: 2, cached_tokens: 3, output_tokens: 4 };
    const writes = { cache_write_5m_tokens: 7, cache_write_1h_tokens: 8 };
    const counts = Object.entries({ ...tokens, ...writes });
    const costed = Object.fromEntries(counts.map(([column, count]) => [`costed_${column}`, count]));
    const unpriced = { unpriced_tokens: 10, unpriced_calls: 11 };
    const sums = { requests: 1, ...tokens, ...writes, cost_micros: 9, ...costed, ...unpriced };
    const sum = { token_id, local_day, provider, model, account_id, group_id, ...sums };
    expect(await storedIn('usage_daily')).toEqual([sum]);
  });

  it('stores a row once, and adds to the sums only what is new', async () => {
    await using opened = await openTestSqlite();
    const { database } = opened;
    const other = { ...entry, request_id: 'request-2' };
    const first = await recordInSqlite(database, [entry]);
    const second = await recordInSqlite(database, [entry, other]);
    await logInSqlite(database, [log]);
    await logInSqlite(database, [{ ...log, status: 500 }]);

    expect(first.fresh).toEqual(new Set([entry]));
    expect(second.fresh).toEqual(new Set([other]));
    expect(await database.selectFrom('request_log').select('status').execute()).toEqual([{ status: 200 }]);
    const sums = await database.selectFrom('usage_daily').select(['requests', 'input_tokens']).execute();
    expect(sums).toEqual([{ requests: 2, input_tokens: 4 }]);
  });
});
