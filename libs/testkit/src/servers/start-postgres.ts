import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import type { Programs } from '../programs/installed-programs.ts';
import { reportProgress, runCommand } from '../programs/run-command.ts';
import type { TestServer } from './test-server.ts';
import { type ServerProgram, serverEnvironment, startServer } from './test-server.ts';

export interface PostgresOptions {
  /** A port of 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether commits survive a crash of the machine. Default: false; they survive a killed server either way. */
  readonly durable?: boolean | undefined;
}

/** Starts a Postgres of the caller's own. Its `url` is a superuser's. */
export function startPostgres(options: PostgresOptions = {}): Promise<TestServer> {
  return startServer(postgresProgram(options), options.port);
}

export function postgresProgram({ durable = false }: PostgresOptions = {}): ServerProgram {
  const settings = [...commonSettings, ...(durable ? [] : fastSettings)].flatMap((setting) => ['-c', setting]);
  return {
    kind: 'postgres',
    // "Fast" shutdown. SIGTERM would wait until every client has left.
    stopSignal: 'SIGINT',
    uid: unprivilegedUid(),
    image: {
      name: 'postgres:17',
      port: 5432,
      command: ['postgres', ...settings],
      environment: { POSTGRES_HOST_AUTH_METHOD: 'trust' },
    },
    prepare: initialise,
    parameters: (port, dataDir) => [
      ...['-D', dataDir, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      ...settings,
    ],
    url: (host, port) => `postgresql://postgres@${host}:${port}/postgres`,
    ping: selectOne,
  };
}

/** Every suite of a run shares one server. */
const commonSettings = ['max_connections=300', 'jit=off'];
/** Commits still reach the operating system before they are answered: a killed server has them when it comes back. */
const fastSettings = ['fsync=off', 'full_page_writes=off'];

/** Postgres and PgBouncer refuse to run as root. The number of "nobody" is free of rights on every system. */
export function unprivilegedUid(): number | undefined {
  return process.getuid?.() === 0 ? 65_534 : undefined;
}

async function initialise(programs: Programs, dataDir: string): Promise<void> {
  const isInitialised = await access(join(dataDir, 'PG_VERSION')).then(
    () => true,
    () => false,
  );
  if (isInitialised) return;
  reportProgress('initialising a Postgres data folder (initdb)');
  await runCommand(
    join(programs.folder, 'initdb'),
    [
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
      '--no-sync',
      '--no-instructions',
      dataDir,
    ],
    { timeoutMs: 120_000, cwd: dataDir, env: serverEnvironment(programs), uid: unprivilegedUid() },
  );
}

/** Resolves when a Postgres, or what stands in front of one, answers a query. */
export async function selectOne(host: string, port: number): Promise<void> {
  const client = new Client({ host, port, user: 'postgres', database: 'postgres', connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
  } finally {
    await client.end();
  }
}
