import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPrograms } from '../programs/find-programs.ts';
import { freePort } from './ports.ts';
import { selectOne, unprivilegedUid } from './start-postgres.ts';
import type { ProcessProgram, TestServer } from './test-server.ts';
import { startServerProcess } from './test-server.ts';

export interface PgBouncerOptions {
  /** The Postgres behind it. Its databases have the same names here. */
  readonly postgresUrl: string;
  /** Connections that it opens to a database at most. Default: 10. */
  readonly serverConnections?: number | undefined;
}

/** Starts a PgBouncer in transaction mode, with its own settings for all else: among them, which startup parameters it refuses. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<TestServer> {
  const port = await freePort();
  return await startServerProcess(pgBouncerProgram(options, port), await findPrograms('pgbouncer'), port);
}

function pgBouncerProgram({ postgresUrl, serverConnections = 10 }: PgBouncerOptions, port: number): ProcessProgram {
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const behind = [`host=${hostname}`, `port=${postgresPort || 5432}`, `user=${decodeURIComponent(username)}`];
  if (password !== '') behind.push(`password=${decodeURIComponent(password)}`);
  const settings = [
    '[databases]',
    `* = ${behind.join(' ')}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${serverConnections}`,
    'max_client_conn = 200',
  ];
  return {
    kind: 'pgbouncer',
    stopSignal: 'SIGINT',
    uid: unprivilegedUid(),
    prepare: (_programs, dataDir) => writeFile(join(dataDir, settingsFile), `${settings.join('\n')}\n`),
    parameters: (_port, dataDir) => [join(dataDir, settingsFile)],
    url: (host) => `postgresql://postgres@${host}:${port}/postgres`,
    ping: selectOne,
  };
}

const settingsFile = 'pgbouncer.ini';
