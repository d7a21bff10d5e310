import { randomUUID } from 'node:crypto';
import { chmod, chown, copyFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import type { CertificateFiles } from '../certificates.ts';
import { roomMs } from '../room/room.ts';
import { reportProgress } from './debian-packages.js';
import type { Programs } from './find-programs.ts';
import { freePorts } from './ports.ts';
import { runProgram, type Server, startServer, startServerProcess, type TestServer } from './run-server.ts';

export interface ServerOptions {
  /** A port of 127.0.0.1. Default: a free one. */
  readonly port?: number;
}

const redisSettings = ['--save', '', '--appendonly', 'no', '--protected-mode', 'no'];

export const redis: Server = {
  name: 'redis',
  programs: ['redis-server'],
  packages: ['redis-server', 'redis-tools'],
  urlVariable: 'REDIS_URL',
  stopSignal: 'SIGTERM',
  image: { name: 'redis:8', port: 6379, command: ['redis-server', ...redisSettings] },
  parameters: (port, dataDir) => ['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir, ...redisSettings],
  url: (host, port) => `redis://${host}:${port}`,
  ping: (host, port) => sendAndExpect(host, port, 'PING\r\n', '+PONG'),
};

/** Starts a Redis for the caller alone. */
export function startRedis({ port }: ServerOptions = {}): Promise<TestServer> {
  return startServer(redis, port);
}

export const nats: Server = {
  name: 'nats',
  programs: ['nats-server'],
  packages: ['nats-server'],
  urlVariable: 'NATS_URL',
  stopSignal: 'SIGTERM',
  image: { name: 'nats:2', port: 4222, command: ['-js', '-sd', '/data'] },
  parameters: (port, dataDir) => ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', dataDir],
  url: (host, port) => `nats://${host}:${port}`,
  ping: (host, port) => sendAndExpect(host, port, 'PING\r\n', 'PONG'),
};

export interface NatsOptions extends ServerOptions {
  /**
   * TLS files. Clients verify the server by a name in its certificate: its URL is
   * `tls://localhost:<port>`.
   */
  readonly tls?: TlsFiles | undefined;
  /** Additional lines of its configuration file. */
  readonly configuration?: string;
}

type TlsFiles = Pick<CertificateFiles, 'certFile' | 'keyFile'>;

/** Starts a NATS server with JetStream for the caller alone. */
export function startNats({ port, ...options }: NatsOptions = {}): Promise<TestServer> {
  const isPlain = options.tls === undefined && options.configuration === undefined;
  return isPlain ? startServer(nats, port) : startServerProcess(configuredNats(options), port);
}

function configuredNats({ tls, configuration = '' }: NatsOptions): Server {
  const files = tls && `tls { cert_file: "${tls.certFile}", key_file: "${tls.keyFile}" }`;
  return {
    ...nats,
    prepare: (_programs, dataDir) => writeFile(join(dataDir, 'nats.conf'), [files, configuration].join('\n')),
    parameters: (port, dataDir) => [...nats.parameters(port, dataDir), '-c', join(dataDir, 'nats.conf')],
    url: (host, port) => (tls === undefined ? nats.url(host, port) : `tls://localhost:${port}`),
    // NATS sends INFO before TLS starts and before it authenticates the client.
    ping: (host, port) => sendAndExpect(host, port, '', 'INFO'),
  };
}

/** Servers of a NATS cluster with JetStream. Electing a leader takes a while. */
export interface NatsCluster extends AsyncDisposable {
  readonly servers: readonly TestServer[];
}

/** Starts a cluster of three NATS servers. */
export async function startNatsCluster(options: Omit<NatsOptions, 'port'> = {}): Promise<NatsCluster> {
  await using stack = new AsyncDisposableStack();
  const routes = (await freePorts(3)).map((port) => `nats://127.0.0.1:${port}`);
  const name = `cluster-${randomUUID()}`;
  const server = configuredNats(options);
  const starts = routes.map(async (own, index) => {
    const ofCluster = ['--cluster_name', name, '--cluster', own, '--routes', routes.join(',')];
    const parameters: Server['parameters'] = (port, dataDir) => [
      ...server.parameters(port, dataDir),
      ...['--server_name', `${name}-${index}`, ...ofCluster],
    ];
    return stack.use(await startServerProcess({ ...server, parameters }));
  });
  const servers = await Promise.all(starts);
  const open = stack.move();
  return { servers, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/**
 * Postgres and PgBouncer refuse to run as root. The user id of `nobody` has no rights on any
 * system.
 */
export const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** All suites of a run share one server. */
const postgresSettings = settings('max_connections=300', 'jit=off');
/**
 * Commits still reach the operating system before they are acknowledged: a killed server has them
 * when it restarts.
 */
const fastSettings = settings('fsync=off', 'full_page_writes=off');
const processSettings = settings('listen_addresses=127.0.0.1', 'unix_socket_directories=');

function settings(...all: readonly string[]): readonly string[] {
  return all.flatMap((setting) => ['-c', setting]);
}

/**
 * @param durable Whether commits survive a crash of the machine; they survive a killed server
 *   either way.
 */
export function postgres(durable = false): Server {
  const chosen = [...postgresSettings, ...(durable ? [] : fastSettings)];
  return {
    name: 'postgres',
    programs: ['postgres', 'initdb'],
    packages: ['postgresql'],
    urlVariable: 'DATABASE_URL',
    // "Fast" shutdown. SIGTERM would wait until every client has disconnected.
    stopSignal: 'SIGINT',
    uid: unprivileged.uid,
    image: {
      name: 'postgres:17',
      port: 5432,
      command: ['postgres', ...chosen],
      environment: { POSTGRES_HOST_AUTH_METHOD: 'trust' },
    },
    prepare: initialisePostgres,
    parameters: (port, dataDir) => ['-D', dataDir, '-p', String(port), ...processSettings, ...chosen],
    url: (host, port) => `postgresql://postgres@${host}:${port}/postgres`,
    ping: selectOne,
  };
}

async function initialisePostgres(programs: Programs, dataDir: string): Promise<void> {
  reportProgress('initialising a Postgres data folder (initdb)');
  const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--no-locale', '--no-sync'];
  const parameters = [...options, '--no-instructions', dataDir];
  await runProgram(programs, 'initdb', parameters, { ...unprivileged, cwd: dataDir, timeout: roomMs(120_000) });
}

export interface PostgresOptions extends ServerOptions {
  readonly durable?: boolean;
  /** TLS files; clients may use TLS. */
  readonly tls?: TlsFiles;
}

/** Starts a Postgres for the caller alone. Its `url` connects as a superuser. */
export function startPostgres({ port, durable, tls }: PostgresOptions = {}): Promise<TestServer> {
  const server = postgres(durable);
  if (tls === undefined) return startServer(server, port);
  const withTls: Server = {
    ...server,
    async prepare(programs, dataDir, own) {
      await server.prepare?.(programs, dataDir, own);
      // Postgres accepts a key only if it belongs to its own user and no one else can read it.
      for (const [file, copy] of Object.entries({ [tls.certFile]: 'server.crt', [tls.keyFile]: 'server.key' })) {
        await copyFile(file, join(dataDir, copy));
        await chmod(join(dataDir, copy), 0o600);
        if (unprivileged.uid !== undefined) await chown(join(dataDir, copy), unprivileged.uid, unprivileged.gid);
      }
    },
    parameters: (own, dataDir) => [...server.parameters(own, dataDir), ...settings('ssl=on')],
  };
  return startServerProcess(withTls, port);
}

export interface PgBouncerOptions {
  /** The Postgres behind it. Databases have the same names in both. */
  readonly postgresUrl: string;
  /** The maximum number of connections to a database. Default: 10. */
  readonly serverConnections?: number;
}

/**
 * Starts a PgBouncer in transaction mode. All other settings are its defaults, including which
 * startup parameters it refuses.
 */
export function startPgBouncer({ postgresUrl, serverConnections = 10 }: PgBouncerOptions): Promise<TestServer> {
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const behind = [`host=${hostname}`, `port=${postgresPort || 5432}`, `user=${decodeURIComponent(username)}`];
  if (password !== '') behind.push(`password=${decodeURIComponent(password)}`);
  const lines = [
    '[databases]',
    `* = ${behind.join(' ')}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${serverConnections}`,
    'max_client_conn = 200',
  ];
  return startServer({
    name: 'pgbouncer',
    programs: ['pgbouncer'],
    packages: ['pgbouncer'],
    stopSignal: 'SIGINT',
    uid: unprivileged.uid,
    prepare: (_programs, dataDir, port) =>
      writeFile(join(dataDir, 'pgbouncer.ini'), [...lines, `listen_port = ${port}`, ''].join('\n')),
    parameters: (_port, dataDir) => [join(dataDir, 'pgbouncer.ini')],
    url: (host, port) => `postgresql://postgres@${host}:${port}/postgres`,
    ping: selectOne,
  });
}

/** Resolves when a Postgres, or a proxy in front of one, answers a query. */
function selectOne(host: string, port: number): Promise<void> {
  return runStatement(`postgresql://postgres@${host}:${port}/postgres`, 'SELECT 1', roomMs(5_000));
}

export async function runStatement(url: string, statement: string, connectTimeoutMs: number): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/**
 * Sends a line to a server and resolves when the expected text arrives; throws when it does not
 * within 5 s.
 */
export function sendAndExpect(host: string, port: number, line: string, expected: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port, timeout: roomMs(5_000) });
  let received = '';
  socket.setEncoding('utf8');
  socket.on('connect', () => socket.write(line));
  socket.on('data', (text) => {
    received += text;
    if (received.includes(expected)) resolve();
  });
  socket.on('timeout', () => reject(new Error(`${host}:${port} gave no answer in time`)));
  socket.on('error', reject);
  socket.on('close', () => reject(new Error(`${host}:${port} closed the connection`)));
  return promise.finally(() => socket.destroy());
}
