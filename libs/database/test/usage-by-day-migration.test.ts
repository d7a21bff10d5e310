import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { describe, expect, it } from 'vitest';
import { eventDaysOf, type GatewayDatabase, migrate, pendingMigrations } from '../src/index.ts';
import * as migrations from '../src/migrations/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';
import { openSqlite } from '../src/sqlite/open-sqlite.ts';

const before = '20261120090100-usage';

/** What later migrations add. */
const addedSince = {
  account_id: '',
  group_id: '',
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  cost_micros: null,
  parts: null,
  unpriced_tokens: 0,
  unpriced_calls: 0,
};

const databases = [
  { name: 'SQLite', open: async () => openSqlite(':memory:') },
  {
    name: 'Postgres',
    open: async (stack: AsyncDisposableStack) => openPostgres(stack.use(await createTestDatabase()).url),
  },
];

describe.each(databases)('the migration that keeps events by day, in $name', ({ open }) => {
  it('keeps every row of a filled table as it was', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await open(stack));
    await migratorOf(database).migrateTo(before);
    await fill(database, 1_000);
    const rows = await rowsOf(database);
    expect(rows).toHaveLength(1_000);
    await migrate(database);
    expect(await pendingMigrations(database)).toEqual([]);
    expect(await rowsOf(database)).toEqual(rows.map((row) => ({ ...row, ...addedSince })));
  });

  it('leaves a table that takes a request once, and new days', async () => {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await open(stack));
    await migratorOf(database).migrateTo(before);
    await fill(database, 30);
    const [known] = await rowsOf(database);
    if (known === undefined) throw new Error('nothing was filled in');
    await migrate(database);
    const inserted = await eventDaysOf(database).insertInto([known.local_day, '2026-12-24'], () =>
      database
        .insertInto('usage_events')
        .values([known, { ...known, request_id: 'new', local_day: '2026-12-24' }])
        .onConflict((conflict) => conflict.columns(['local_day', 'request_id']).doNothing())
        .returning('request_id')
        .execute(),
    );
    expect(inserted).toEqual([{ request_id: 'new' }]);
    expect(await rowsOf(database)).toHaveLength(31);
  });
});

function migratorOf(database: GatewayDatabase): Migrator {
  return new Migrator({ db: database, provider: { getMigrations: async () => ({ ...migrations }) } });
}

/** Adds rows of all kinds, on eleven days. */
async function fill(database: GatewayDatabase, count: number): Promise<void> {
  await sql`
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${sql.lit(count)})
    insert into usage_events
    select 'r' || i, 't' || (i % 7), 1700000000000 + i, '2026-11-' || (10 + i % 11), '/v1/responses',
           case when i % 5 = 0 then '' else 'provider_a' end, 'm' || (i % 3), i, i % 10, i * 2, i % 4, i % 2,
           case when i % 5 = 0 then 'lost' else 'completed' end
    from n`.execute(database);
}

function rowsOf(database: GatewayDatabase) {
  return database.selectFrom('usage_events').selectAll().orderBy('local_day').orderBy('request_id').execute();
}
