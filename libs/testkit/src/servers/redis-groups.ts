import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '../certificates.ts';
import { untilReady } from '../managed-process.ts';
import { roomMs } from '../room/room.ts';
import { findPrograms } from './find-programs.ts';
import { runProgram, type Server, startServerProcess, type TestServer } from './run-server.ts';
import { redis } from './servers.ts';

/** Redis servers that form a group. All run on loopback and do not persist data. */
export interface RedisGroup extends AsyncDisposable {
  /** The value for REDIS_URL, including the password if there is one. */
  readonly url: string;
  /** Settings that belong to REDIS_URL. */
  readonly env: Readonly<Record<string, string>>;
  readonly servers: readonly TestServer[];
  /** The Sentinels, if there are any. */
  readonly sentinels: readonly TestServer[];
  /** The server that currently accepts writes of a key. Fails while there is none. */
  masterOf(key: string): Promise<TestServer>;
  /** Runs redis-cli on one of the servers. */
  ask(server: TestServer, ...command: readonly string[]): Promise<string>;
}

export interface RedisGroupOptions {
  /** TLS only, with certificates for 127.0.0.1; clients need a certificate too. */
  readonly hasTls?: boolean;
  readonly password?: string;
  /**
   * How long a server must be silent to count as down. Default: longer than delays on a busy
   * machine.
   */
  readonly silenceMs?: number;
}

const defaultSilenceMs = roomMs(5_000);
/** Replicas need not wait for others to synchronise at the same time. */
const atOnce = ['--repl-diskless-sync-delay', '0'];

/** Starts one server. */
export async function startLoneRedis(options: RedisGroupOptions): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = await openAccess(options, stack);
  const server = stack.use(await access.start(redis));
  return group(
    { ask: access.ask, ...access.settings('redis', [server]), servers: [server], masterOf: async () => server },
    stack,
  );
}

/** Starts a master, two replicas and the three Sentinels that watch them. */
export async function startRedisSentinels(options: RedisGroupOptions = {}): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = await openAccess(options, stack);
  const master = stack.use(await access.start(redis, atOnce));
  const replicaOf = [...atOnce, '--replicaof', '127.0.0.1', String(master.port)];
  const replicas = await Promise.all([1, 2].map(async () => stack.use(await access.start(redis, replicaOf))));
  const servers = [master, ...replicas];
  await until(() => access.ask(master, 'INFO', 'replication'), /connected_slaves:2/);
  for (const replica of replicas) await until(() => access.ask(replica, 'INFO', 'replication'), /link_status:up/);
  const settings = [
    `sentinel monitor ${masterName} 127.0.0.1 ${master.port} 2`,
    `sentinel down-after-milliseconds ${masterName} ${options.silenceMs ?? defaultSilenceMs}`,
    `sentinel failover-timeout ${masterName} 5000`,
    ...(options.password === undefined ? [] : [`sentinel auth-pass ${masterName} ${options.password}`]),
  ];
  const sentinel: Server = {
    ...redis,
    prepare: (_programs, dataDir) => writeFile(join(dataDir, 'sentinel.conf'), `${settings.join('\n')}\n`),
    parameters: (port, dataDir) => {
      const own = ['--bind', '127.0.0.1', '--port', String(port), '--dir', dataDir, '--protected-mode', 'no'];
      return [join(dataDir, 'sentinel.conf'), '--sentinel', ...own];
    },
  };
  const sentinels = await Promise.all([1, 2, 3].map(async () => stack.use(await access.start(sentinel))));
  const ready = /num-slaves\n2\n.*num-other-sentinels\n2\n/s;
  for (const each of sentinels) await until(() => access.ask(each, 'SENTINEL', 'MASTER', masterName), ready);
  const masterOf = async () => {
    const answers = await access.askAll(sentinels, 'SENTINEL', 'MASTER', masterName);
    const known = answers.map((answer) => ({ epoch: fieldOf(answer, 'config-epoch'), port: fieldOf(answer, 'port') }));
    const newest = known.toSorted((one, other) => other.epoch - one.epoch)[0];
    const named = servers.find((server) => server.port === newest?.port) ?? failed('the Sentinels know no master');
    // On a busy machine, the Sentinels that know of a failover may not have answered in time.
    if (!(await access.ask(named, 'ROLE')).startsWith('master')) failed('the Sentinels name one that is no master');
    return named;
  };
  const urlAndSettings = access.settings('redis-sentinel', sentinels, `/0#${masterName}`);
  return group({ ask: access.ask, ...urlAndSettings, servers, sentinels, masterOf }, stack);
}

const masterName = 'mymaster';

/**
 * Starts three masters with one replica each. When a master is away, only its own slots are
 * unavailable.
 */
export async function startRedisCluster(options: RedisGroupOptions = {}): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = await openAccess(options, stack);
  const nodeTimeoutMs = String(options.silenceMs ?? defaultSilenceMs);
  const settings = [...atOnce, '--cluster-node-timeout', nodeTimeoutMs, '--cluster-require-full-coverage', 'no'];
  const starts = Array.from({ length: 6 }, async () => stack.use(await access.start(clusterNode, settings)));
  const servers = await Promise.all(starts);
  await access.createCluster(servers);
  for (const replica of servers.slice(3)) {
    await until(() => access.ask(replica, 'INFO', 'replication'), /link_status:up/);
  }
  const stillMaster = (text: string) => (text.match(/\bmaster\b/g)?.length === 3 ? text : failed('not yet'));
  for (const server of servers) {
    await until(() => access.ask(server, 'CLUSTER', 'INFO'), /state:ok.*slots_ok:16384\b.*known_nodes:6\b/s);
    await until(async () => stillMaster(await access.ask(server, 'CLUSTER', 'NODES')), /slave/);
  }
  const masterOf = async (key: string) => {
    const slot = Number((await access.askAll(servers, 'CLUSTER', 'KEYSLOT', key))[0]);
    const lines = (await access.askAll(servers, 'CLUSTER', 'NODES')).flatMap((answer) => answer.split('\n'));
    const masters = lines.filter((line) => isMaster(line) && holdsSlot(line, slot));
    const [newest = ''] = masters.toSorted((one, other) => epochOf(other) - epochOf(one));
    const port = /:(\d+)@/.exec(newest)?.[1];
    return servers.find((server) => server.port === Number(port)) ?? failed('no master has the slot');
  };
  const urlAndSettings = access.settings('redis-cluster', servers.slice(0, 3));
  return group({ ask: access.ask, ...urlAndSettings, servers, masterOf }, stack);
}

const clusterNode: Server = {
  ...redis,
  parameters: (...place) => [...redis.parameters(...place), '--cluster-enabled', 'yes'],
};

type GroupParts = Omit<RedisGroup, 'sentinels' | typeof Symbol.asyncDispose> & Partial<Pick<RedisGroup, 'sentinels'>>;

/** A group that is disposed with the stack. */
function group(parts: GroupParts, stack: AsyncDisposableStack): RedisGroup {
  const open = stack.move();
  return { sentinels: [], ...parts, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Whether a line of CLUSTER NODES describes a master, by its third word. */
function isMaster(line: string): boolean {
  const flags = line.split(' ')[2]?.split(',') ?? [];
  return flags.includes('master') && !flags.includes('fail');
}

/**
 * The seventh word, which grows with each failover: a server that has not heard of the last
 * failover reports a smaller number.
 */
function epochOf(line: string): number {
  return Number(line.split(' ')[6]);
}

/** A number in a Sentinel's answer, on the line after its name. */
function fieldOf(answer: string, name: string): number {
  const lines = answer.split('\n');
  return Number(lines[lines.indexOf(name) + 1]);
}

/** Whether a line lists the slot: slots are the ninth word and those after it. */
function holdsSlot(line: string, slot: number): boolean {
  const ranges = line.split(' ').slice(8);
  return ranges.some((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number);
    return from <= slot && slot <= to;
  });
}

/** How servers are started, reached and authenticated. */
async function openAccess({ hasTls = false, password }: RedisGroupOptions, stack: AsyncDisposableStack) {
  const tls = hasTls ? await makeCertificates(stack) : undefined;
  const cli = async (port: number, command: readonly string[], isSentinel: boolean, timeout = roomMs(5_000)) => {
    const programs = await findPrograms(redis);
    const login = password === undefined || isSentinel ? [] : ['--no-auth-warning', '-a', password];
    const place = ['-h', '127.0.0.1', '-p', String(port), ...(tls?.clientSettings ?? [])];
    return runProgram(programs, 'redis-cli', [...place, ...login, ...command], { timeout });
  };
  const ask: RedisGroup['ask'] = (server, ...command) => cli(server.port, command, command[0] === 'SENTINEL');
  return {
    ask,
    /** The answers of the servers that answer quickly: some may be gone or frozen. */
    async askAll(servers: readonly TestServer[], ...command: readonly string[]): Promise<readonly string[]> {
      const isSentinel = command[0] === 'SENTINEL';
      const asked = await Promise.allSettled(servers.map(({ port }) => cli(port, command, isSentinel, roomMs(1_000))));
      return asked.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    },
    start(server: Server, settings: readonly string[] = []): Promise<TestServer> {
      const isSentinel = server !== redis && server !== clusterNode;
      const login = password === undefined || isSentinel ? [] : ['--requirepass', password, '--masterauth', password];
      const parameters: Server['parameters'] = (port, dataDir) => [
        ...server.parameters(port, dataDir),
        ...settings,
        // The last port given takes effect.
        ...(tls === undefined ? [] : ['--port', '0', '--tls-port', String(port), ...tls.serverSettings]),
        ...login,
      ];
      const ping = async (_host: string, port: number) => {
        const text = await cli(port, ['PING'], isSentinel);
        if (!text.includes('PONG')) throw new Error(text);
      };
      return startServerProcess({ ...server, parameters, ping });
    },
    /**
     * Distributes the slots over the first half of the servers; each server of the second half
     * replicates one of them.
     */
    async createCluster(servers: readonly TestServer[]): Promise<void> {
      const [first = failed('none started')] = servers;
      const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
      const command = ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes'];
      await cli(first.port, command, false, roomMs(60_000));
    },
    /**
     * The value for REDIS_URL and the settings that belong to it.
     * @param rest the hosts, and what follows them.
     */
    settings(scheme: 'redis' | 'redis-sentinel' | 'redis-cluster', hosts: readonly TestServer[], rest = '') {
      const login = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
      const places = hosts.map(({ port }) => `127.0.0.1:${port}`).join(',');
      const withTls = tls === undefined ? scheme : scheme.replace('redis', 'rediss');
      return { url: `${withTls}://${login}${places}${rest}`, env: tls?.env ?? {} };
    },
  };
}

/**
 * Creates certificates for 127.0.0.1, in a folder that is removed with the stack, and the settings
 * for both sides.
 */
async function makeCertificates(stack: AsyncDisposableStack) {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-redis-tls-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const authority = await CertificateAuthority.create();
  const names = ['127.0.0.1', 'localhost'];
  const { certFile, keyFile, caFile } = await authority.writeFiles(folder, 'redis', { names });
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  return {
    serverSettings: [...files, '--tls-replication', 'yes', '--tls-cluster', 'yes'],
    clientSettings: ['--tls', '--cert', certFile, '--key', keyFile, '--cacert', caFile],
    env: { REDIS_CA_FILE: caFile, REDIS_CERT_FILE: certFile, REDIS_KEY_FILE: keyFile },
  };
}

/** Asks repeatedly until the answer is as expected. */
function until(ask: () => Promise<string>, expected: RegExp): Promise<void> {
  const check = async () => {
    const text = await ask();
    if (!expected.test(text)) failed(`no ${expected} in: ${text}`);
  };
  return untilReady('a group of Redis servers', check);
}

function failed(reason: string): never {
  throw new Error(reason);
}
