import { randomUUID } from 'node:crypto';
import { roomMs } from './room/room.ts';
import type { TestServer } from './servers/run-server.ts';
import { runStatement, startNats, startPostgres, startRedis } from './servers/servers.ts';

/**
 * Addresses of real servers that all suites of a run share: use keys, streams and databases of your
 * own.
 */
export interface TestBackends {
  readonly redisUrl: string;
  readonly natsUrl: string;
  readonly postgresUrl: string;
}

/** The servers behind `TestBackends`. Disposal stops those that were started here. */
export interface StartedBackends extends AsyncDisposable {
  readonly backends: TestBackends;
}

declare module 'vitest' {
  interface ProvidedContext {
    testBackends: TestBackends;
  }
}

let ownBackends: Promise<StartedBackends> | undefined;

/**
 * Real servers: those of the vitest run if its `globalSetup` started them; otherwise three that
 * belong to this process and end with it.
 *
 * @throws Error that says what was tried when a server is not available.
 */
export async function testBackends(): Promise<TestBackends> {
  const ofTheRun = await backendsOfTheRun();
  if (ofTheRun !== undefined) return ofTheRun;
  ownBackends ??= startBackends();
  return (await ownBackends).backends;
}

/**
 * Takes each server from REDIS_URL, NATS_URL or DATABASE_URL, and starts those whose variable is
 * not set.
 */
export async function startBackends(env: NodeJS.ProcessEnv = process.env): Promise<StartedBackends> {
  await using stack = new AsyncDisposableStack();
  const urlOf = async (variable: string, start: () => Promise<TestServer>) =>
    env[variable] || stack.use(await start()).url;
  // All must settle before a failure is reported, so that started servers are stopped.
  const urls = [urlOf('REDIS_URL', startRedis), urlOf('NATS_URL', startNats), urlOf('DATABASE_URL', startPostgres)];
  await Promise.allSettled(urls);
  const [redisUrl = '', natsUrl = '', postgresUrl = ''] = await Promise.all(urls);
  const servers = stack.move();
  return {
    backends: { redisUrl, natsUrl, postgresUrl },
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

/** `inject` exists only inside a vitest worker; elsewhere there is no run to share servers with. */
async function backendsOfTheRun(): Promise<TestBackends | undefined> {
  if (process.env.VITEST === undefined) return undefined;
  const { inject } = await import('vitest');
  return inject('testBackends');
}

/** A Postgres database for one test. Disposal drops it and closes its connections. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Creates a fresh, empty database in the shared Postgres, or in the server at `serverUrl`. */
export async function createTestDatabase(serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await testBackends()).postgresUrl;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await runStatement(server, `CREATE DATABASE ${name}`, roomMs(30_000));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => runStatement(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, roomMs(30_000)),
  };
}
