import { Client } from 'pg';
import { expect, it } from 'vitest';
import { createTestDatabase, testBackends } from '../src/index.ts';
import { sendAndExpect } from '../src/servers/servers.ts';

it('gives servers that answer', async () => {
  const { redisUrl, natsUrl, postgresUrl } = await testBackends();
  const redis = new URL(redisUrl);
  const nats = new URL(natsUrl);
  await sendAndExpect(redis.hostname, Number(redis.port), 'PING\r\n', '+PONG');
  await sendAndExpect(nats.hostname, Number(nats.port), 'PING\r\n', 'PONG');
  expect(await databaseNames(postgresUrl)).toContain('postgres');
});

it('gives the same servers to all callers', async () => {
  expect(await testBackends()).toEqual(await testBackends());
});

it('creates a database for one test and drops it with its connections', async () => {
  const { postgresUrl } = await testBackends();
  const database = await createTestDatabase();
  const name = new URL(database.url).pathname.slice(1);
  expect(await databaseNames(postgresUrl)).toContain(name);

  const client = new Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  expect((await client.query('SELECT current_database() AS name')).rows).toEqual([{ name }]);

  await database[Symbol.asyncDispose]();
  expect(await databaseNames(postgresUrl)).not.toContain(name);
});

async function databaseNames(url: string): Promise<readonly string[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ datname: string }>('SELECT datname FROM pg_database');
  await client.end();
  return rows.map(({ datname }) => datname);
}
