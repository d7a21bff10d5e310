import { createTestDatabase } from '@gateway/testkit';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { PostgresEventDays } from '../src/event-days/postgres-event-days.ts';
import { EventDaysBusyError, eventDaysOf, firstKeptDay, type GatewayDatabase, migrate } from '../src/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';
import { testDatabases } from '../src/testing/test-databases.ts';

const { signal } = new AbortController();

describe.each(testDatabases)('days of events in $name', ({ open }) => {
  it('have room for events as soon as they are open, however often they are opened', async () => {
    await using opened = await open();
    const days = eventDaysOf(opened.database);
    await days.open(['2026-11-20', '2026-11-21', '2026-11-20']);
    await eventDaysOf(opened.database).open(['2026-11-21']);
    await addEvents(opened.database, '2026-11-20', '2026-11-21');
    expect(await storedDays(opened.database)).toEqual(['2026-11-20', '2026-11-21']);
  });

  it('are removed with their events before a day, and never come back', async () => {
    await using opened = await open();
    const days = eventDaysOf(opened.database);
    const events = ['2026-08-01', '2026-08-02', '2026-08-03', '2026-11-20'];
    await days.insertInto(events, () => addEvents(opened.database, ...events));
    expect(await firstKeptDay(opened.database)).toBe('');
    expect(await days.removeBefore('2026-08-03', signal)).toMatchObject({ days: 2 });
    expect(await storedDays(opened.database)).toEqual(['2026-08-03', '2026-11-20']);
    expect(await firstKeptDay(opened.database)).toBe('2026-08-03');
    expect(await days.removeBefore('2026-08-03', signal)).toEqual({ days: 0, events: 0 });
    await days.removeBefore('2026-08-01', signal);
    expect(await firstKeptDay(opened.database)).toBe('2026-08-03');
  });

  it('are removed in steps that can be interrupted, and go on the next time', async () => {
    await using opened = await open();
    const days = eventDaysOf(opened.database);
    await days.insertInto(['2026-08-01'], () => addEvents(opened.database, '2026-08-01'));
    expect(await days.removeBefore('2026-08-03', AbortSignal.abort())).toEqual({ days: 0, events: 0 });
    expect(await storedDays(opened.database)).toEqual(['2026-08-01']);
    expect(await days.removeBefore('2026-08-03', signal)).toMatchObject({ days: 1 });
  });

  it('are read as one snapshot and changed afterwards', async () => {
    await using opened = await open();
    const found = await eventDaysOf(opened.database).withLock({
      read: async (snapshot) => (await snapshot.selectFrom('sequences').selectAll().execute()).length,
      change: async (transaction, last_value) => {
        await transaction.insertInto('sequences').values({ name: 'found', last_value }).execute();
      },
    });
    expect(found).toBe(0);
    expect(await opened.database.selectFrom('sequences').selectAll().execute()).toHaveLength(1);
  });
});

describe('days of events in SQLite', () => {
  it('are emptied in small batches, every event of them', async () => {
    await using opened = await openOf('SQLite');
    const { database } = opened;
    await sql`
      insert into usage_events (
        request_id, token_id, admitted_at_ms, local_day, endpoint, provider, model,
        input_tokens, cached_tokens, output_tokens, reasoning_tokens, estimated, outcome, account_id
      )
      select 'r' || value, 't', 0, '2026-08-01', '', '', '', 1, 0, 1, 0, 0, 'completed', ''
      from (with recursive n(value) as (select 1 union all select value + 1 from n where value < 2300) select value from n)
    `.execute(database);
    expect(await eventDaysOf(database).removeBefore('2026-08-02', signal)).toEqual({ days: 1, events: 2_300 });
    expect(await storedDays(database)).toEqual([]);
  });
});

describe('days of events in Postgres', () => {
  it('are made once by processes that meet a new day at the same time', async () => {
    await using empty = await createTestDatabase();
    await using first = openPostgres(empty.url);
    await using second = openPostgres(empty.url);
    await migrate(first);
    const wanted = Array.from({ length: 8 }, (_, index) => `2026-11-${10 + index}`);
    const processes = Array.from({ length: 12 }, (_, index) => eventDaysOf(index % 2 === 0 ? first : second));
    await Promise.all(processes.map((days, index) => days.open(index % 3 === 0 ? wanted.toReversed() : wanted)));
    expect(await partitions(first)).toEqual(wanted.map((day) => `usage_events_${day.replaceAll('-', '_')}`));
  });

  it('are partitions that other days are not searched for', async () => {
    await using opened = await openOf('Postgres');
    const { database } = opened;
    await eventDaysOf(database).open(['2026-11-19', '2026-11-20', '2026-11-21']);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select request_id from usage_events where local_day in ('2026-11-20') and request_id in ('a', 'b')
    `.execute(database);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('usage_events_2026_11_20_pkey');
    expect(plan).not.toContain('2026_11_19');
  });

  it('find their way when another process removes a day that was open', async () => {
    await using opened = await openOf('Postgres');
    const { database } = opened;
    const days = eventDaysOf(database);
    await days.open(['2026-08-01', '2026-11-20']);
    await eventDaysOf(database).removeBefore('2026-08-02', signal);
    let attempts = 0;
    const adding = days.insertInto(['2026-08-01', '2026-11-20'], async () => {
      attempts++;
      const kept = ['2026-08-01', '2026-11-20'].filter((day) => attempts === 1 || day > '2026-08-01');
      await addEvents(database, ...kept);
    });
    await expect(adding).resolves.toBeUndefined();
    expect(attempts).toBe(2);
    expect(await storedDays(database)).toEqual(['2026-11-20']);
  });

  it('are not made again once they were removed, even by a process that has not heard of it', async () => {
    await using opened = await openOf('Postgres');
    const days = eventDaysOf(opened.database);
    await days.open(['2026-08-01']);
    await eventDaysOf(opened.database).removeBefore('2026-08-02', signal);
    const adding = days.insertInto(['2026-08-01'], () => addEvents(opened.database, '2026-08-01'));
    await expect(adding).rejects.toThrow(/no partition/);
    expect(await partitions(opened.database)).toEqual([]);
  });

  it('are removed by one process at a time, while others add events', async () => {
    await using opened = await openOf('Postgres');
    const { database } = opened;
    const all = Array.from({ length: 20 }, (_, index) => `2026-08-${10 + index}`);
    await eventDaysOf(database).open([...all, '2026-11-20']);
    await database.transaction().execute((transaction) => addEvents(transaction, ...all));
    const adding = Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        eventDaysOf(database).insertInto(['2026-11-20'], () => addEvents(database, `2026-11-20 ${index}`)),
      ),
    );
    const removed = await Promise.all(
      Array.from({ length: 4 }, () => eventDaysOf(database).removeBefore('2026-09-01', signal)),
    );
    await adding;
    expect(removed.reduce((sum, { days }) => sum + days, 0)).toBe(20);
    expect(await partitions(database)).toEqual(['usage_events_2026_11_20']);
  });

  it('are not worked on for long by two: the second one gets an error', async () => {
    await using opened = await openOf('Postgres');
    const { database } = opened;
    const mayEnd = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const first = eventDaysOf(database).withLock({
      read: async () => {
        started.resolve();
        await mayEnd.promise;
        return 'first';
      },
      change: async () => undefined,
    });
    await started.promise;
    const nothing = { read: async () => 'second', change: async () => undefined };
    await expect(new PostgresEventDays(database, 'usage_events', 100).withLock(nothing)).rejects.toThrow(
      EventDaysBusyError,
    );
    expect(await eventDaysOf(database).removeBefore('2026-08-01', signal)).toEqual({ days: 0, events: 0 });
    expect(await firstKeptDay(database)).toBe('');
    const waiting = eventDaysOf(database).withLock(nothing);
    mayEnd.resolve();
    expect(await Promise.all([first, waiting])).toEqual(['first', 'second']);
  });

  it('finish what a process that died had begun to remove', async () => {
    await using opened = await openOf('Postgres');
    const { database } = opened;
    const days = eventDaysOf(database);
    await days.open(['2026-08-01', '2026-08-02', '2026-11-20']);
    await sql`alter table usage_events detach partition usage_events_2026_08_01`.execute(database);
    await leaveHalfDetached(database, 'usage_events_2026_08_02');
    expect(await days.removeBefore('2026-09-01', signal)).toMatchObject({ days: 2 });
    expect(await partitions(database)).toEqual(['usage_events_2026_11_20']);
  });
});

/** Interrupts a detach that waits for a reader, as if its process had ended. */
async function leaveHalfDetached(database: GatewayDatabase, partition: string): Promise<void> {
  const reading = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const reader = database.transaction().execute(async (transaction) => {
    await sql`select 1 from usage_events`.execute(transaction);
    reading.resolve();
    await mayEnd.promise;
  });
  await reading.promise;
  await database.connection().execute(async (connection) => {
    await sql`set statement_timeout = 300`.execute(connection);
    const detaching = sql`alter table usage_events detach partition ${sql.table(partition)} concurrently`;
    await expect(detaching.execute(connection)).rejects.toThrow(/timeout/);
    await sql`reset statement_timeout`.execute(connection);
  });
  mayEnd.resolve();
  await reader;
}

async function openOf(name: string) {
  const kind = testDatabases.find((database) => database.name === name);
  if (kind === undefined) throw new Error(`no database is called ${name}`);
  return await kind.open();
}

/** Adds one event for each day; a suffix after the day distinguishes several events of one day. */
async function addEvents(database: GatewayDatabase, ...days: readonly string[]): Promise<void> {
  await database
    .insertInto('usage_events')
    .values(
      days.map((day) => ({
        request_id: `r ${day}`,
        token_id: 't',
        admitted_at_ms: 0,
        local_day: day.slice(0, 10),
        endpoint: '/v1/responses',
        provider: 'provider_a',
        model: 'm',
        input_tokens: 10,
        cached_tokens: 0,
        output_tokens: 5,
        reasoning_tokens: 0,
        estimated: 0,
        outcome: 'completed' as const,
        account_id: '',
      })),
    )
    .execute();
}

async function storedDays(database: GatewayDatabase): Promise<readonly string[]> {
  const rows = await database.selectFrom('usage_events').select('local_day').distinct().orderBy('local_day').execute();
  return rows.map(({ local_day }) => local_day);
}

async function partitions(database: GatewayDatabase): Promise<readonly string[]> {
  const { rows } = await sql<{ relname: string }>`
    select relname from pg_class where relname like 'usage_events_2%' and relkind = 'r' order by relname
  `.execute(database);
  return rows.map(({ relname }) => relname);
}
