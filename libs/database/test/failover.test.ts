import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, type PostgresPair, startPostgresPair } from '@gateway/testkit';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GatewayDatabase } from '../src/index.ts';
import { openPostgres } from '../src/postgres/open-postgres.ts';

describe('a database of a primary and a synchronous standby', () => {
  let pair: PostgresPair;
  let database: GatewayDatabase;
  beforeAll(async () => {
    pair = await startPostgresPair({ synchronous: true });
    database = openPostgres(pair.url('postgres'), { statementTimeoutMs: 1_000 });
    await sql`create table orders (id bigint primary key)`.execute(database);
  });
  afterAll(async () => {
    await database?.destroy();
    await pair?.[Symbol.asyncDispose]();
  });

  const add = (id: number) => sql`insert into orders values (${id}) on conflict do nothing`.execute(database);
  const ids = async () => (await sql<{ id: number }>`select id from orders order by id`.execute(database)).rows;

  it('is worked with at the primary, wherever the URL names it', async () => {
    const [first, second] = [pair.primary.port, pair.standby.port];
    await using turned = openPostgres(`postgres://postgres@127.0.0.1:${second},127.0.0.1:${first}/postgres`);
    await sql`insert into orders values (1)`.execute(turned);
    expect(await ids()).toEqual([{ id: 1 }]);
  });

  it('does not report as written what the standby lacks, however long that lasts', async () => {
    await pair.standby.pause();
    await expect(add(2)).rejects.toThrow(/timeout/);
    await expect(
      database.transaction().execute((own) => sql`insert into orders values (3)`.execute(own)),
    ).rejects.toThrow();
    await pair.standby.resume();
    await expect.poll(() => add(2).then(() => 'written', String)).toBe('written');
    expect(await ids()).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  it('is worked with at the standby once that is promoted, with every row that was written', async () => {
    const written: number[] = [];
    let stop = false;
    const writing = (async () => {
      for (let id = 100; !stop; id++) {
        while (
          !(await add(id).then(
            () => true,
            () => false,
          ))
        )
          await sleep(50);
        written.push(id);
      }
    })();
    await expect.poll(() => written.length).toBeGreaterThan(20);
    await pair.primary.kill();
    await expect(add(4)).rejects.toThrow(/ECONNREFUSED.*accepts no writes/);
    await pair.promote();
    const soFar = written.length;
    await expect.poll(() => written.length).toBeGreaterThan(soFar + 20);
    stop = true;
    await writing;
    expect(await ids()).toEqual([1, 2, 3, ...written].map((id) => ({ id })));
  });
});

describe('a database of several hosts', () => {
  it('is worked with at the next host while one takes connections and says nothing', async () => {
    const port = await freePort();
    const silent = createServer(() => undefined).listen(port, '127.0.0.1');
    await using pair = await startPostgresPair();
    await using database = openPostgres(
      `postgres://postgres@127.0.0.1:${port},127.0.0.1:${pair.primary.port}/postgres`,
    );
    expect((await sql<{ one: number }>`select 1 as one`.execute(database)).rows).toEqual([{ one: 1 }]);
    silent.close();
  });

  it('gives up every connection of a server that accepts no writes any more', async () => {
    await using pair = await startPostgresPair();
    await using database = openPostgres(pair.url('postgres'));
    await sql`create table orders (id bigint primary key)`.execute(database);
    await Promise.all([1, 2, 3].map(() => sql`select pg_sleep(0.2)`.execute(database)));
    await pair.promote();
    // Behaves like a demoted server, which keeps its connections.
    await using old = openPostgres(pair.primary.url, { statementTimeoutMs: 0 });
    await sql`alter system set default_transaction_read_only = on`.execute(old);
    await sql`select pg_reload_conf()`.execute(old);
    await sleep(200);
    await expect(sql`insert into orders values (1)`.execute(database)).rejects.toThrow(/read-only/);
    for (const id of [2, 3, 4]) await sql`insert into orders values (${id})`.execute(database);
    await using promoted = openPostgres(pair.standby.url);
    expect((await sql<{ count: number }>`select count(*) as count from orders`.execute(promoted)).rows).toEqual([
      { count: 3 },
    ]);
  });
});
