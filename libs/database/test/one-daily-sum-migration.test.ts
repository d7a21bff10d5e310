import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { describe, expect, it } from 'vitest';
import { eventDaysOf, type GatewayDatabase, migrate, summedColumns } from '../src/index.ts';
import * as migrations from '../src/migrations/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';
import { openSqlite } from '../src/sqlite/open-sqlite.ts';

const databases = [
  { name: 'SQLite', open: async () => openSqlite(':memory:') },
  {
    name: 'Postgres',
    open: async (stack: AsyncDisposableStack) => openPostgres(stack.use(await createTestDatabase()).url),
  },
];

const totalKey = ['token_id', 'local_day', 'provider', 'model'];

describe.each(databases)('the migration to one table of daily sums, in $name', ({ open }) => {
  it('keeps totals by token, account and group, of days with and without events, and wrong ones too', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await open(stack));
    await fill(database);
    await eventDaysOf(database).removeBefore('2026-11-22', new AbortController().signal);
    for (const table of ['usage_daily', 'usage_daily_by_account', 'usage_daily_by_group']) {
      const spoil = sql`update ${sql.table(table)} set output_tokens = output_tokens + 5 where token_id = 't1'`;
      await spoil.execute(database);
    }
    const before = {
      total: await sumsOf(database, 'usage_daily', totalKey),
      ofAccounts: await sumsOf(database, 'usage_daily_by_account', [...totalKey, 'account_id']),
      ofGroups: await sumsOf(database, 'usage_daily_by_group', [...totalKey, 'group_id']),
    };
    expect([before.total.length, before.ofAccounts.length, before.ofGroups.length]).toEqual([60, 120, 84]);
    await migrate(database);
    const known = (column: string) => sql<boolean>`${sql.ref(column)} <> ''`;
    expect({
      total: await sumsOf(database, 'usage_daily', totalKey),
      ofAccounts: await sumsOf(database, 'usage_daily', [...totalKey, 'account_id'], known('account_id')),
      ofGroups: await sumsOf(database, 'usage_daily', [...totalKey, 'group_id'], known('group_id')),
    }).toEqual(before);
  });

  it('leaves the sums that the events have', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await open(stack));
    await fill(database);
    await migrate(database);
    const key = [...totalKey, 'account_id', 'group_id'];
    const recorded = await sumsOf(database, 'usage_daily', key);
    expect(recorded.length).toBeGreaterThan(150);
    expect(recorded).toEqual(await sumsOf(database, 'events', key));
  });
});

/**
 * Writes the tables of the release before: requests of tokens that change accounts and groups
 * during the day, with their sums.
 */
async function fill(database: GatewayDatabase): Promise<void> {
  const migrator = new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
  await migrator.migrateTo('20261128220000-unpriced-models');
  await eventDaysOf(database).open(['2026-11-20', '2026-11-21', '2026-11-22', '2026-11-23']);
  await sql`
    with recursive n(i) as (select 0 union all select i + 1 from n where i < 999)
    insert into usage_events (request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model, input_tokens,
      cached_tokens, output_tokens, reasoning_tokens, estimated, outcome, account_id, group_id, cost_micros, parts,
      cache_write_5m_tokens, cache_write_1h_tokens, unpriced_tokens, unpriced_calls)
    select 'r' || i, 't' || (i % 5), 1700000000000 + i, '2026-11-2' || (i / 250), '/v1/responses', 'provider_a',
      'm' || (i % 3), i, i % 10, i * 2, i % 4, i % 2,
      case i % 11 when 0 then 'lost' when 1 then 'given_up' else 'completed' end,
      case i % 7 when 0 then '' when 1 then 'pool/b' else 'pool/a' end,
      case when i % 5 = 4 then '' when i % 5 = 0 or i % 2 = 0 then 'g1' when i % 13 = 1 then '' else 'g2' end,
      case when i % 17 = 0 then null else i * 3 end, case when i % 34 = 0 then '[]' end, i % 8, i % 6, i % 3, i % 2
    from n`.execute(database);
  const tables = { usage_daily: [], usage_daily_by_account: ['account_id'], usage_daily_by_group: ['group_id'] };
  for (const [table, parts] of Object.entries(tables)) {
    const columns = [...totalKey, ...parts, ...summedColumns];
    const isKnown = parts.map((part) => `where ${part} <> ''`).join('');
    await sql`
      insert into ${sql.table(table)} (${sql.raw(columns.join(', '))})
      select ${sql.raw([...totalKey, ...parts, ...sums].join(', '))} from ${events} ${sql.raw(isKnown)}
      group by ${sql.raw([...totalKey, ...parts].join(', '))}`.execute(database);
  }
}

const counts = ['input_tokens', 'cached_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens', 'output_tokens'];
const sums = summedColumns.map((column) => `cast(sum(${column}) as bigint) as ${column}`);

/** Each event as its sum. */
const events = sql.raw(`(
  select token_id, local_day, provider, model, account_id, group_id, ${counts.join(', ')},
    case when outcome in ('lost', 'given_up') then 0 else 1 end as requests, coalesce(cost_micros, 0) as cost_micros,
    ${counts.map((column) => `case when cost_micros is null and parts is null then 0 else ${column} end as costed_${column}`).join(', ')},
    unpriced_tokens, unpriced_calls
  from usage_events) as events`);

async function sumsOf(database: GatewayDatabase, table: string, key: readonly string[], where = sql<boolean>`1 = 1`) {
  const columns = sql.raw([...key, ...sums].join(', '));
  const names = sql.raw(key.join(', '));
  const { rows } = await sql<object>`
    select ${columns} from ${table === 'events' ? events : sql.table(table)} where ${where}
    group by ${names} order by ${names}`.execute(database);
  return rows;
}
