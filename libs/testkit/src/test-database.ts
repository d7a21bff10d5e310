import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { testBackends } from './test-backends.ts';

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
