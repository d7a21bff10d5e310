import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CertificateAuthority, type CertificateFiles } from '../certificates.ts';
import { findPrograms } from './find-programs.ts';
import { type Server, serverEnvironment, startServerProcess, type TestServer } from './run-server.ts';
import { busPortOf, redis, redisClusterNode } from './servers.ts';

/** Redis servers that know of each other. All run on loopback, without files of their data. */
export interface RedisGroup extends AsyncDisposable {
  /** What REDIS_URL is set to. It has the password, if there is one. */
  readonly url: string;
  /** Settings beside REDIS_URL. */
  readonly env: Readonly<Record<string, string>>;
  readonly servers: readonly TestServer[];
  /** Sentinels, if it has any. */
  readonly sentinels: readonly TestServer[];
  /** The server that takes writes of a key now. Fails while there is none. */
  masterOf(key: string): Promise<TestServer>;
  /** Runs redis-cli on one of the servers. */
  ask(server: TestServer, ...command: readonly string[]): Promise<string>;
}

export interface RedisGroupOptions {
  /** With TLS alone, certificates of 127.0.0.1, and clients that must have one as well. */
  readonly hasTls?: boolean | undefined;
  readonly password?: string | undefined;
  /** How long a server must be silent to count as down. Default: longer than a busy machine lets one wait. */
  readonly silenceMs?: number | undefined;
}

const defaultSilenceMs = 5_000;
/** Replicas need not wait for others that may want the same. */
const atOnce = ['--repl-diskless-sync-delay', '0'];

/** Starts one server. */
export async function startLoneRedis(options: RedisGroupOptions): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = stack.use(await Access.open(options));
  const server = stack.use(await access.start(redis));
  const parts = { servers: [server], masterOf: async () => server };
  return access.group(`redis://${access.login}127.0.0.1:${server.port}`, parts, stack.move());
}

/** Starts a master, two replicas and the three Sentinels that watch them. */
export async function startRedisSentinels(options: RedisGroupOptions = {}): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = stack.use(await Access.open(options));
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
    ...(access.password === undefined ? [] : [`sentinel auth-pass ${masterName} ${access.password}`]),
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
    const [, port] = (await access.askAny(sentinels, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName)).split('\n');
    return servers.find((server) => server.port === Number(port)) ?? failed('the Sentinels know no master');
  };
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const url = `redis-sentinel://${access.login}${hosts}/0#${masterName}`;
  return access.group(url, { servers, sentinels, masterOf }, stack.move());
}

const masterName = 'mymaster';

/** Starts three masters with a replica each. The slots of one that is away are, those of the others go on. */
export async function startRedisCluster(options: RedisGroupOptions = {}): Promise<RedisGroup> {
  await using stack = new AsyncDisposableStack();
  const access = stack.use(await Access.open(options));
  const nodeTimeoutMs = String(options.silenceMs ?? defaultSilenceMs);
  const settings = [...atOnce, '--cluster-node-timeout', nodeTimeoutMs, '--cluster-require-full-coverage', 'no'];
  const starts = Array.from({ length: 6 }, async () => stack.use(await access.start(redisClusterNode, settings)));
  const servers = await Promise.all(starts);
  const [first = failed('none started')] = servers;
  const masters = servers.slice(0, 3);
  const slots = [0, 5_461, 10_923, 16_384];
  const addresses = servers.map(({ port }) => ['127.0.0.1', String(port), String(busPortOf(port))]);
  for (const address of addresses.slice(1)) await access.ask(first, 'CLUSTER', 'MEET', ...address);
  await Promise.all(
    masters.map((master, n) => {
      const range = [slots[n] ?? 0, (slots[n + 1] ?? 0) - 1].map(String);
      return access.ask(master, 'CLUSTER', 'ADDSLOTSRANGE', ...range);
    }),
  );
  for (const server of servers) await until(() => access.ask(server, 'CLUSTER', 'INFO'), /known_nodes:6\r?\n/);
  const ids = await Promise.all(masters.map((master) => access.ask(master, 'CLUSTER', 'MYID')));
  for (const [n, id] of ids.entries()) {
    const replica = servers[n + 3] ?? failed('none started');
    await until(() => access.ask(replica, 'CLUSTER', 'REPLICATE', id.trim()), /OK/);
    await until(() => access.ask(replica, 'INFO', 'replication'), /link_status:up/);
  }
  const stillMaster = (text: string) => (text.match(/\bmaster\b/g)?.length === 3 ? text : failed('not yet'));
  for (const server of servers) {
    await until(() => access.ask(server, 'CLUSTER', 'INFO'), /state:ok.*slots_ok:16384\b/s);
    await until(async () => stillMaster(await access.ask(server, 'CLUSTER', 'NODES')), /slave/);
  }
  const masterOf = async (key: string) => {
    const slot = Number(await access.askAny(servers, 'CLUSTER', 'KEYSLOT', key));
    const lines = (await access.askAny(servers, 'CLUSTER', 'NODES')).split('\n');
    const line = lines.find((each) => isMaster(each) && holdsSlot(each, slot));
    const port = /:(\d+)@/.exec(line ?? '')?.[1];
    return servers.find((server) => server.port === Number(port)) ?? failed('no master has the slot');
  };
  const url = `redis-cluster://${access.login}${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  return access.group(url, { servers, masterOf }, stack.move());
}

/** Of a line of CLUSTER NODES: its third word says what it is. */
function isMaster(line: string): boolean {
  const flags = line.split(' ')[2]?.split(',') ?? [];
  return flags.includes('master') && !flags.includes('fail');
}

/** Its slots are the ninth word and those after it. */
function holdsSlot(line: string, slot: number): boolean {
  const ranges = line.split(' ').slice(8);
  return ranges.some((range) => {
    const [from = Number.NaN, to = from] = range.split('-').map(Number);
    return from <= slot && slot <= to;
  });
}

/** How servers are reached, and prove who they are. */
class Access implements AsyncDisposable {
  readonly password: string | undefined;
  readonly #files: CertificateFiles | undefined;
  readonly #folder: string | undefined;

  static async open({ hasTls = false, password }: RedisGroupOptions): Promise<Access> {
    if (!hasTls) return new Access(password, undefined, undefined);
    const folder = await mkdtemp(join(tmpdir(), 'testkit-redis-tls-'));
    const authority = await CertificateAuthority.create();
    const files = await authority.writeFiles(folder, 'redis', { names: ['127.0.0.1', 'localhost'] });
    return new Access(password, files, folder);
  }

  private constructor(password: string | undefined, files: CertificateFiles | undefined, folder: string | undefined) {
    this.password = password;
    this.#files = files;
    this.#folder = folder;
  }

  /** What stands before the hosts of a URL. */
  get login(): string {
    return this.password === undefined ? '' : `:${encodeURIComponent(this.password)}@`;
  }

  start(server: Server, settings: readonly string[] = []): Promise<TestServer> {
    const isSentinel = server !== redis && server !== redisClusterNode;
    const parameters: Server['parameters'] = (port, dataDir) => [
      ...server.parameters(port, dataDir),
      ...settings,
      ...this.#tlsSettings(port),
      ...(this.password === undefined || isSentinel
        ? []
        : ['--requirepass', this.password, '--masterauth', this.password]),
    ];
    const ping = (_host: string, port: number) =>
      this.#cli(port, ['PING'], isSentinel).then((text) => {
        if (!text.includes('PONG')) throw new Error(text);
      });
    return startServerProcess({ ...server, parameters, ping });
  }

  #tlsSettings(port: number): readonly string[] {
    if (this.#files === undefined) return [];
    const { certFile, keyFile, caFile } = this.#files;
    const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
    const others = ['--tls-replication', 'yes', '--tls-cluster', 'yes'];
    // The last port that is given counts.
    return ['--port', '0', '--tls-port', String(port), ...files, ...others];
  }

  ask(server: TestServer, ...command: readonly string[]): Promise<string> {
    return this.#cli(server.port, command, command[0] === 'SENTINEL');
  }

  /** Asks all of them, of which some may stand still, for what the first one answers. */
  askAny(servers: readonly TestServer[], ...command: readonly string[]): Promise<string> {
    return Promise.any(servers.map((server) => this.ask(server, ...command)));
  }

  async #cli(port: number, command: readonly string[], isSentinel: boolean): Promise<string> {
    const programs = await findPrograms(redis);
    const parameters = ['-h', '127.0.0.1', '-p', String(port)];
    if (this.password !== undefined && !isSentinel) parameters.push('--no-auth-warning', '-a', this.password);
    if (this.#files !== undefined) {
      const { certFile, keyFile, caFile } = this.#files;
      parameters.push('--tls', '--cert', certFile, '--key', keyFile, '--cacert', caFile);
    }
    const { stdout } = await promisify(execFile)(join(programs.folder, 'redis-cli'), [...parameters, ...command], {
      timeout: 5_000,
      env: serverEnvironment(programs),
    });
    return stdout;
  }

  group(
    plainUrl: string,
    parts: Pick<RedisGroup, 'servers' | 'masterOf'> & Partial<Pick<RedisGroup, 'sentinels'>>,
    stack: AsyncDisposableStack,
  ): RedisGroup {
    const files = this.#files;
    const env = files && {
      REDIS_CA_FILE: files.caFile,
      REDIS_CERT_FILE: files.certFile,
      REDIS_KEY_FILE: files.keyFile,
    };
    return {
      sentinels: [],
      ...parts,
      url: files === undefined ? plainUrl : plainUrl.replace('redis', 'rediss'),
      env: env ?? {},
      ask: (server, ...command) => this.ask(server, ...command),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Asks until the answer is as expected. */
async function until(ask: () => Promise<string>, expected: RegExp): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const text = await ask().catch((thrown: unknown) => String(thrown));
    if (expected.test(text)) return;
    if (performance.now() > deadlineMs) throw new Error(`No ${expected} in: ${text}`);
    await sleep(50);
  }
}

function failed(reason: string): never {
  throw new Error(reason);
}
