import { createTestDatabase, startPgBouncer, type TestServer, testBackends } from '@gateway/testkit';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventDaysOf, type GatewayDatabase, migrate, pendingMigrations } from '../src/index.ts';
import { migratePostgres, openPostgres } from '../src/postgres/open-postgres.ts';

describe('a database behind PgBouncer in transaction mode', () => {
  let bouncer: TestServer;
  beforeAll(async () => {
    const { postgresUrl } = await testBackends();
    // Few connections, so that state left in a session soon affects others.
    bouncer = await startPgBouncer({ postgresUrl, serverConnections: 4 });
  });
  afterAll(async () => {
    await bouncer?.[Symbol.asyncDispose]();
  });

  it('is migrated once by processes that start together, and again after one that failed', async () => {
    await using empty = await openEmpty(bouncer);
    await using direct = openPostgres(empty.direct);
    // A table with the name that a migration needs blocks it.
    await sql`create table sequences (nothing int)`.execute(direct);
    await expect(migratePostgres(empty.url)).rejects.toThrow(/already exists/);
    expect(
      await sql`select 1 from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`.execute(direct),
    ).toMatchObject({ rows: [] });
    await sql`drop table sequences`.execute(direct);
    const ran = await Promise.all(Array.from({ length: 6 }, () => migratePostgres(empty.url)));
    const names = ran.flat();
    expect(names.length).toBeGreaterThan(0);
    expect(new Set(names).size).toBe(names.length);
    expect(await pendingMigrations(direct)).toEqual([]);
  });

  it('ends statements that take too long, alone and in a transaction, and no others', async () => {
    await using empty = await openEmpty(bouncer);
    await using hasty = openPostgres(empty.url, { statementTimeoutMs: 200 });
    await using patient = openPostgres(empty.url);
    await using direct = openPostgres(empty.direct);
    const others = Promise.all([1, 2].map(() => sql`select pg_sleep(1.5)`.execute(patient)));
    await expect(sql`select pg_sleep(30)`.execute(hasty)).rejects.toThrow(/statement timeout/);
    const inside = hasty.transaction().execute((transaction) => sql`select pg_sleep(30)`.execute(transaction));
    await expect(inside).rejects.toThrow(/statement timeout/);
    await others;
    await expect.poll(() => busySessions(direct)).toBe(0);
    expect((await sql<{ one: number }>`select 1 as one`.execute(hasty)).rows).toEqual([{ one: 1 }]);
  });

  it('keeps days of events, and leaves no lock behind', async () => {
    await using empty = await openEmpty(bouncer);
    await using first = openPostgres(empty.url);
    await using second = openPostgres(empty.url);
    await using direct = openPostgres(empty.direct);
    await migrate(first);
    const signal = new AbortController().signal;
    const wanted = Array.from({ length: 6 }, (_, index) => `2026-11-${10 + index}`);
    await Promise.all([first, second, first, second].map((database) => eventDaysOf(database).open(wanted)));
    const [one, other] = await Promise.all([
      eventDaysOf(first).removeBefore('2026-11-13', signal),
      eventDaysOf(second).removeBefore('2026-11-13', signal),
    ]);
    expect(one.days + other.days).toBe(3);
    const checks = [first, second, first].map((database) =>
      eventDaysOf(database).withLock({
        read: async (snapshot) => (await snapshot.selectFrom('sequences').selectAll().execute()).length,
        change: async (transaction, last_value) => {
          await transaction
            .insertInto('sequences')
            .values({ name: `found ${last_value}`, last_value })
            .execute();
        },
      }),
    );
    // The checks run one at a time: each finds what the earlier ones wrote.
    expect((await Promise.all(checks)).toSorted()).toEqual([0, 1, 2]);
    const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`.execute(direct);
    expect(rows).toEqual([]);
  });
});

/** An empty database, both through PgBouncer and directly. */
async function openEmpty(bouncer: TestServer) {
  const empty = await createTestDatabase();
  const url = new URL(bouncer.url);
  url.pathname = new URL(empty.url).pathname;
  return { url: url.href, direct: empty.url, [Symbol.asyncDispose]: () => empty[Symbol.asyncDispose]() };
}

async function busySessions(database: GatewayDatabase): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
  `.execute(database);
  return rows[0]?.count ?? 0;
}
