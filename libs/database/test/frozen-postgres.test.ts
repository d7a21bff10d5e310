import { connect, createServer, type Socket } from 'node:net';
import { isNoAnswer } from '@gateway/errors';
import { Metrics } from '@gateway/telemetry';
import { createTestDatabase, freePort } from '@gateway/testkit';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createDatabaseProbe } from '../src/index.ts';
import { migratePostgres, openPostgres } from '../src/postgres/open-postgres.ts';

describe('a Postgres that stops answering', () => {
  it('fails calls in bounded time, says that it is away, and serves again over new connections', async () => {
    await using empty = await createTestDatabase();
    await migratePostgres(empty.url);
    await using path = await openPath(empty.url);
    const metrics = new Metrics();
    await using database = openPostgres(path.url, { maxConnections: 1, statementTimeoutMs: 100, metrics });
    const probe = createDatabaseProbe(database, 500);
    const one = () => sql<{ one: number }>`select 1 as one`.execute(database);
    await one();
    expect(await probe()).toBeUndefined();
    expect(await isUp(metrics)).toBe('1');
    const refused: unknown = await sql`select nothing`.execute(database).catch((thrown: unknown) => thrown);
    expect([refused instanceof Error, isNoAnswer(refused)]).toEqual([true, false]);

    path.freeze();
    const problem: unknown = await one().catch((thrown: unknown) => thrown);
    expect(problem).toMatchObject({ message: expect.stringMatching(/timeout/) });
    expect(isNoAnswer(problem)).toBe(true);
    // One check that is late is no outage; it fails at the time limit of statements.
    await expect.poll(probe).toMatch(/does not answer/);
    expect(await isUp(metrics)).toBe('0');

    // Connections from before the freeze stay dead, as behind a firewall that lost their state.
    path.acceptNew();
    await expect.poll(() => one().then(({ rows }) => rows, String)).toEqual([{ one: 1 }]);
    expect(await isUp(metrics)).toBe('1');
  });
});

async function isUp(metrics: Metrics): Promise<string | undefined> {
  return /gateway_backend_up\{backend="postgres"\} (\d)/.exec(await metrics.exposition())?.[1];
}

/** A path to a server that can drop all traffic without closing connections. */
async function openPath(target: string) {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let swallowing = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    if (swallowing) return;
    client.pipe(upstream).pipe(client);
  });
  const url = new URL(target);
  url.port = String(await freePort());
  await new Promise<void>((resolve) => server.listen(Number(url.port), '127.0.0.1', resolve));
  return {
    url: url.href,
    freeze() {
      swallowing = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    acceptNew() {
      swallowing = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
