import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { type BackendKind, backendKinds, urlVariable } from './programs/installed-programs.ts';
import { startNats } from './servers/start-nats.ts';
import { startPostgres } from './servers/start-postgres.ts';
import { startRedis } from './servers/start-redis.ts';
import type { TestServer } from './servers/test-server.ts';

/** Addresses of real servers that every suite of a run shares: use keys, streams and databases of your own in them. */
export interface TestBackends {
  readonly redisUrl: string;
  readonly natsUrl: string;
  readonly postgresUrl: string;
}

/** The servers behind `TestBackends`. Disposing them stops those that were started here. */
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
 * Real servers: those of the vitest run when its `globalSetup` started them, else three that belong to this process
 * and end with it.
 *
 * @throws Error that says what was tried, when a server can't be had.
 */
export async function testBackends(): Promise<TestBackends> {
  const ofTheRun = await backendsOfTheRun();
  if (ofTheRun !== undefined) return ofTheRun;
  ownBackends ??= startBackends();
  return (await ownBackends).backends;
}

/** Takes each server from REDIS_URL, NATS_URL or DATABASE_URL; starts those that have no such variable. */
export async function startBackends(env: NodeJS.ProcessEnv = process.env): Promise<StartedBackends> {
  await using stack = new AsyncDisposableStack();
  const urlOf = async (kind: BackendKind) => env[urlVariable[kind]] || stack.use(await starters[kind]()).url;
  const started = await Promise.allSettled(backendKinds.map(urlOf));
  const [redisUrl = '', natsUrl = '', postgresUrl = ''] = started.map(valueOrThrow);
  const servers = stack.move();
  return {
    backends: { redisUrl, natsUrl, postgresUrl },
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

const starters: Record<BackendKind, () => Promise<TestServer>> = {
  redis: startRedis,
  nats: startNats,
  postgres: startPostgres,
};

function valueOrThrow(result: PromiseSettledResult<string>): string {
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

/** `inject` exists only inside a vitest worker; elsewhere there is no run to share with. */
async function backendsOfTheRun(): Promise<TestBackends | undefined> {
  if (process.env.VITEST === undefined) return undefined;
  const { inject } = await import('vitest');
  return inject('testBackends');
}

/** A Postgres database of one test. Disposing it drops it, with whatever connections it still has. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
}

/** Creates a fresh, empty database in the shared Postgres, or in the server at `serverUrl`. */
export async function createTestDatabase(serverUrl?: string): Promise<TestDatabase> {
  const server = serverUrl ?? (await testBackends()).postgresUrl;
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await execute(server, `CREATE DATABASE ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => execute(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 30_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
