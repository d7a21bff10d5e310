import { Metrics } from '@gateway/telemetry';
import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDatabaseProbe, type GatewayDatabase, isRefusedData, migrate, pendingMigrations } from '../src/index.ts';
import { migratePostgres, openPostgres } from '../src/postgres/open-postgres.ts';
import { testDatabases } from '../src/testing/test-databases.ts';

describe.each(testDatabases)('the database in $name', ({ open }) => {
  it('has every table, and nothing left to migrate', async () => {
    await using opened = await open();
    expect(await pendingMigrations(opened.database)).toEqual([]);
    expect(await migrate(opened.database)).toEqual([]);
    const tables = [
      'tokens',
      'sequences',
      'usage_events',
      'usage_daily',
      'usage_retention',
      'dead_letters',
      'accounts',
      'account_grants',
      'audit_log',
    ] as const;
    for (const table of tables) {
      expect(await opened.database.selectFrom(table).selectAll().execute()).toEqual([]);
    }
  });

  it('gives bigints and their sums as numbers', async () => {
    await using opened = await open();
    await addSequences(opened, Number.MAX_SAFE_INTEGER - 1, 1);
    const { total } = await opened.database
      .selectFrom('sequences')
      .select(({ fn }) => sql<number>`cast(${fn.sum('last_value')} as bigint)`.as('total'))
      .executeTakeFirstOrThrow();
    expect(total).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('refuses to round a number that is too large to be exact', async () => {
    await using opened = await open();
    await addSequences(opened, Number.MAX_SAFE_INTEGER, 2);
    const tooLarge = opened.database
      .selectFrom('sequences')
      .select(({ fn }) => sql<number>`cast(${fn.sum('last_value')} as bigint)`.as('total'))
      .execute();
    await expect(tooLarge).rejects.toThrow(RangeError);
  });

  it('undoes a transaction that fails', async () => {
    await using opened = await open();
    const failing = opened.database.transaction().execute(async (transaction) => {
      await transaction.insertInto('sequences').values({ name: 'a', last_value: 1 }).execute();
      throw new Error('changed my mind');
    });
    await expect(failing).rejects.toThrow('changed my mind');
    expect(await opened.database.selectFrom('sequences').selectAll().execute()).toEqual([]);
  });

  it('distinguishes data that it refuses from faults that may pass', async () => {
    await using opened = await open();
    await addSequences(opened, 1);
    const twice = await failureOf(addSequences(opened, 1));
    const missing = await failureOf(sql`select 1 from no_such_table`.execute(opened.database));
    expect(isRefusedData(twice)).toBe(true);
    expect(isRefusedData(missing)).toBe(false);
  });

  it('answers a probe', async () => {
    await using opened = await open();
    expect(await createDatabaseProbe(opened.database)()).toBeUndefined();
  });
});

describe('a Postgres database', () => {
  it('is migrated once by processes that start together', async () => {
    await using empty = await createTestDatabase();
    const ran = await Promise.all(Array.from({ length: 6 }, () => migratePostgres(empty.url)));
    const names = ran.flat();
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is not ready before it is migrated, and is as soon as it is', async () => {
    await using empty = await createTestDatabase();
    await using database = openPostgres(empty.url);
    const probe = createDatabaseProbe(database);
    expect(await probe()).toMatch(/gatewayctl migrate/);
    await migrate(database);
    expect(await probe()).toBeUndefined();
  });

  it('is not ready when no server listens', async () => {
    await using database = openPostgres('postgres://127.0.0.1:9/nothing');
    expect(await createDatabaseProbe(database)()).toMatch(/does not answer/);
  });

  it('counts as up while it answers, also with a refusal, and as down when it cannot be reached', async () => {
    await using empty = await createTestDatabase();
    const metrics = new Metrics();
    await using database = openPostgres(empty.url, { metrics, statementTimeoutMs: 100 });
    await expect(sql`select * from nowhere`.execute(database)).rejects.toThrow(/nowhere/);
    await expect(sql`select pg_sleep(20)`.execute(database)).rejects.toThrow(/statement timeout/);
    const text = await metrics.exposition();
    expect(text).toContain('gateway_backend_up{backend="postgres"} 1');
    for (const code of ['42P01', '57014']) {
      const labels = `db_system_name="postgresql",db_operation_name="select",error_type="${code}"`;
      expect(text).toContain(`db_client_operation_duration_seconds_count{${labels}} 1`);
    }
    await using nobody = openPostgres('postgres://127.0.0.1:9/nothing', { metrics });
    await expect(sql`select 1`.execute(nobody)).rejects.toThrow();
    expect(await metrics.exposition()).toContain('gateway_backend_up{backend="postgres"} 0');
  });

  it('is left alone when it is newer than this code', async () => {
    await using empty = await createTestDatabase();
    await using database = openPostgres(empty.url);
    await migrate(database);
    await sql`insert into kysely_migration (name, timestamp) values ('29990101000000-later', '2999-01-01T00:00:00.000Z')`.execute(
      database,
    );
    expect(await migrate(database)).toEqual([]);
  });

  it('is reached again after its server closed the connections, in a transaction or not', async () => {
    await using empty = await createTestDatabase();
    await using database = openPostgres(empty.url, { maxConnections: 1 });
    await using other = openPostgres(empty.url);
    const cut = () =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid()`.execute(other);
    const inside = database.transaction().execute(async (transaction) => {
      await sql`select 1`.execute(transaction);
      await cut();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await sql`select 1`.execute(transaction);
    });
    await expect(inside).rejects.toThrow();
    await sql`select 1`.execute(database);
    await cut();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await sql<{ one: number }>`select 1 as one`.execute(database)).rows).toEqual([{ one: 1 }]);
  });

  it('ends a statement that takes too long, in a transaction or not, and serves the next one', async () => {
    await using empty = await createTestDatabase();
    await using database = openPostgres(empty.url, { maxConnections: 1, statementTimeoutMs: 100 });
    const sleeping = sql`select pg_sleep(20)`;
    await expect(sleeping.execute(database)).rejects.toThrow(/statement timeout/);
    expect((await sql<{ one: number }>`select 1 as one`.execute(database)).rows).toEqual([{ one: 1 }]);
    const inside = database.transaction().execute((transaction) => sleeping.execute(transaction));
    await expect(inside).rejects.toThrow(/statement timeout/);
    expect((await sql<{ one: number }>`select 1 as one`.execute(database)).rows).toEqual([{ one: 1 }]);
    await using other = openPostgres(empty.url);
    await expect.poll(() => sleepers(other)).toBe(0);
  });

  it('ends a transaction that does nothing for too long', async () => {
    await using empty = await createTestDatabase();
    await using database = openPostgres(empty.url, { statementTimeoutMs: 100 });
    const idle = database.transaction().execute(async (transaction) => {
      await sql`select 1`.execute(transaction);
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await sql`select 1`.execute(transaction);
    });
    await expect(idle).rejects.toThrow();
    expect((await sql<{ one: number }>`select 1 as one`.execute(database)).rows).toEqual([{ one: 1 }]);
  });
});

/** How many statements are still sleeping in the server. */
async function sleepers(database: GatewayDatabase): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query like '%pg_sleep%'
  `.execute(database);
  return rows[0]?.count ?? 0;
}

function addSequences({ database }: Awaited<ReturnType<(typeof testDatabases)[number]['open']>>, ...values: number[]) {
  return database
    .insertInto('sequences')
    .values(values.map((last_value, index) => ({ name: `s${index}`, last_value })))
    .execute();
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}
