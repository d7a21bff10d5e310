import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePorts, programOf } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FinishedCommand } from '../topologies/gateway-process.ts';

type Environment = Readonly<Record<string, string>>;

const root = fileURLToPath(new URL('../..', import.meta.url));
const gateway = [programOf('gatewayctl'), 'start'];
const workers = [...gateway, '--workers', '2'];
const main = (service: string) => [programOf(service)];

/**
 * The required settings of every service; missing ones are reported together with other problems.
 */
const grpcPorts = { GRPC_PORT: '18123', ADMIN_PORT: '18123' };
const httpPorts = { PORT: '18123', ADMIN_PORT: '18123' };

const wrongFile = `pools:
  responses: { format: responses, owned_by: "two words", base_url: "http://127.0.0.1:1" }
accounts:
  - { pool: nowhere, name: a, credential: { bearer: secret-1 } }
settings: { error_threshold: much, rate_limit_cooldown_seconds: 700 }
`;
const problemsOfFile = [
  'pools.responses.owned_by: ',
  'accounts[0].pool: ',
  'settings.error_threshold: ',
  'settings.rate_limit_cooldown_max_seconds: ',
];

interface WrongService {
  readonly name: string;
  readonly wrong: Environment;
  readonly required: readonly string[];
}

const wrongServices: readonly WrongService[] = [
  { name: 'identity', wrong: { TOKEN_HASH_KEY: 'secret-4' }, required: ['DATABASE_URL'] },
  { name: 'limiter', wrong: { LIMITER_RECONCILE_SECONDS: '0' }, required: ['REDIS_URL'] },
  { name: 'pool-broker', wrong: { ACCOUNT_KEYS: 'secret-5' }, required: ['REDIS_URL', ...problemsOfFile] },
  {
    name: 'responses-adapter',
    wrong: { UPSTREAM_IDLE_TIMEOUT_SECONDS: '0' },
    required: ['POOL_BROKER_URL', 'CREDENTIAL_URL'],
  },
  {
    name: 'messages-adapter',
    wrong: { UPSTREAM_IDLE_TIMEOUT_SECONDS: '0' },
    required: ['POOL_BROKER_URL', 'CREDENTIAL_URL'],
  },
  { name: 'usage-ingest', wrong: { NATS_STREAM_REPLICAS: '9' }, required: ['DATABASE_URL', 'NATS_URL'] },
  { name: 'usage-query', wrong: { USAGE_WAIT_MILLISECONDS: '-1' }, required: ['DATABASE_URL', 'NATS_URL'] },
];

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly env: Environment;
  /** The entries of the list of problems, each once. */
  readonly problems: readonly string[];
}

const wrongEverywhere: Environment = {
  ...httpPorts,
  LOG_LEVEL: 'loud',
  DATABASE_URL: 'mysql://user:secret-2@127.0.0.1/x',
  REDIS_URL: 'http://:secret-3@127.0.0.1',
  NATS_URL: 'http://127.0.0.1',
  TOKEN_HASH_KEY: 'secret-4',
  ACCOUNT_KEYS: 'secret-5',
  ACCOUNT_POLL_SECONDS: '0',
  ADMISSION_PATIENCE_SECONDS: '0',
  REQUEST_LOG_RETENTION_DAYS: 'x',
  NATS_STREAM_REPLICAS: '9',
  USAGE_WAIT_MILLISECONDS: '-1',
  UPSTREAM_IDLE_TIMEOUT_SECONDS: 'never',
};
const namesEverywhere = Object.keys(wrongEverywhere).filter((name) => !name.endsWith('PORT'));
const databases = ['DATABASE_URL', 'REDIS_URL', 'NATS_URL'];

const cases: readonly Case[] = [
  ...[
    { name: 'the all-in-one', args: gateway },
    { name: 'the all-in-one with workers', args: workers },
  ].map((each) => ({
    ...each,
    env: wrongEverywhere,
    problems: [...namesEverywhere, 'PORT and ADMIN_PORT are both 18123', ...problemsOfFile, 'GATEWAY_DATA: '],
  })),
  ...wrongServices.map(({ name, wrong, required }) => ({
    name,
    args: main(name),
    env: { ...grpcPorts, LOG_LEVEL: 'loud', ...wrong },
    problems: ['LOG_LEVEL', 'GRPC_PORT and ADMIN_PORT are both 18123', ...Object.keys(wrong), ...required],
  })),
  {
    name: 'edge-router',
    args: main('edge-router'),
    env: { ...httpPorts, LOG_LEVEL: 'loud', ADMISSION_PATIENCE_SECONDS: '0', EDGE_WORKERS: 'many' },
    problems: [
      'LOG_LEVEL',
      'PORT and ADMIN_PORT are both 18123',
      'ADMISSION_PATIENCE_SECONDS',
      'EDGE_WORKERS',
      'GATEWAY_DATA: ',
      'IDENTITY_URL',
      'LIMITER_URL',
      'POOL_BROKER_URL',
      'RESPONSES_ADAPTER_URL',
      'MESSAGES_ADAPTER_URL',
      'USAGE_QUERY_URL',
      'NATS_URL',
    ],
  },
];

describe('settings that cannot be used', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-settings-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each(cases)('are reported all at once by $name', async ({ args, env, problems }) => {
    const file = join(folder, 'gateway.yaml');
    await writeFile(file, wrongFile);
    const { exitCode, stderr } = await run(args, { GATEWAY_CONFIG: file, GATEWAY_DATA: file, ...env });
    expect(exitCode).toBe(1);
    const lines = stderr.trim().split('\n');
    expect(lines[0]).toMatch(/can't start:$/);
    const listed = lines.slice(1);
    for (const problem of problems) expect(listed.filter((line) => line.startsWith(`  - ${problem}`))).toHaveLength(1);
    expect(listed).toHaveLength(problems.length);
    expect(stderr).not.toContain('secret-');
  });

  describe.each([
    ['the all-in-one', gateway],
    ['the all-in-one with workers', workers],
    ['gatewayctl without a gateway', [programOf('gatewayctl'), 'token', 'create', '--label', 'x']],
  ])('%s', (_name, args) => {
    const runIn = async (data: string) => run(args, { ...(await ports()), GATEWAY_DATA: data });

    it('names GATEWAY_DATA when it is a file, a pipe, or cannot be written', async () => {
      const file = join(folder, 'file');
      await writeFile(file, '');
      const pipe = join(folder, 'pipe');
      execFileSync('mkfifo', [pipe]);
      for (const path of [file, pipe, ...(process.platform === 'linux' ? ['/sys/kernel'] : [])]) {
        const { exitCode, stderr } = await runIn(path);
        expect(exitCode).toBe(1);
        expect(stderr).toContain('GATEWAY_DATA: ');
        expect(stderr).toContain(path);
      }
    });

    it('waits a limited time for files in GATEWAY_DATA', async () => {
      const data = join(folder, 'data');
      await mkdir(data);
      // Reading a pipe without a writer hangs like a file on an unreachable mount.
      execFileSync('mkfifo', [join(data, 'token-hash-key')]);
      const { exitCode, stderr, hadToBeEnded } = await runIn(data);
      expect(exitCode).not.toBe(0);
      expect(hadToBeEnded).toBe(false);
      expect(stderr).toContain(`GATEWAY_DATA: ${join(data, 'token-hash-key')} did not respond within 5 s.`);
    });

    it('names DATABASE_URL with host and port, and not with its password, when it is away', async () => {
      const [port = 0] = await freePorts(1);
      const { exitCode, stderr } = await run(args, {
        ...(await ports()),
        GATEWAY_DATA: join(folder, 'data'),
        DATABASE_URL: `postgres://user:secret@127.0.0.1:${port}/gateway`,
        TOKEN_HASH_KEY: 'a'.repeat(64),
      });
      expect(exitCode).toBe(1);
      expect(stderr).toContain(`DATABASE_URL: Postgres at 127.0.0.1:${port} is unreachable (ECONNREFUSED)`);
      expect(stderr).not.toContain('secret');
    });
  });

  it.each([
    ['the all-in-one', gateway, ['REDIS_URL', 'NATS_URL']],
    ['the all-in-one with workers', workers, ['REDIS_URL', 'NATS_URL']],
    ['identity', main('identity'), ['DATABASE_URL']],
    ['limiter', main('limiter'), ['REDIS_URL']],
    ['pool-broker', main('pool-broker'), ['REDIS_URL', 'DATABASE_URL']],
    ['usage-ingest', main('usage-ingest'), ['DATABASE_URL', 'NATS_URL']],
    ['usage-query', main('usage-query'), ['DATABASE_URL', 'NATS_URL']],
    ['edge-router', main('edge-router'), ['NATS_URL']],
  ])('are warned of by %s when they name a server that is away', async (_name, args, names) => {
    const away = Object.fromEntries(databases.map((name) => [name, name.slice(0, -4)]));
    const [port = 0] = await freePorts(1);
    const schemes: Environment = { DATABASE_URL: 'postgres', REDIS_URL: 'redis', NATS_URL: 'nats' };
    const peer = 'http://127.0.0.1:1';
    const env = {
      ...(await ports()),
      GATEWAY_DATA: join(folder, 'data'),
      TOKEN_HASH_KEY: 'a'.repeat(64),
      LOG_LEVEL: 'warn',
      OPENAI_API_KEY: 'sk-test',
      ...Object.fromEntries(peers.map((name) => [name, peer])),
      ...Object.fromEntries(names.map((name) => [name, `${schemes[name]}://user:secret@127.0.0.1:${port}`])),
    };
    const texts: Environment = { DATABASE: 'Postgres', REDIS: 'Redis', NATS: 'NATS' };
    const all = names.map((name) => `${name}: ${texts[away[name] ?? '']} at 127.0.0.1:${port} is unreachable`);
    const { stdout, stderr } = await run(args, env, (text) => all.every((line) => text.includes(line)));
    for (const line of all) expect(stdout + stderr).toContain(line);
    expect(stdout + stderr).not.toContain('secret');
  });
});

const peers = [
  'IDENTITY_URL',
  'LIMITER_URL',
  'POOL_BROKER_URL',
  'RESPONSES_ADAPTER_URL',
  'MESSAGES_ADAPTER_URL',
  'USAGE_QUERY_URL',
];

async function ports(): Promise<Environment> {
  const names = ['PORT', 'GRPC_PORT', 'CREDENTIAL_PORT', 'ADMIN_PORT'];
  const free = await freePorts(names.length);
  return Object.fromEntries(names.map((name, index) => [name, String(free[index])]));
}

interface FinishedRun extends FinishedCommand {
  readonly hadToBeEnded: boolean;
}

/**
 * Runs a program of the gateway until it ends, its output matches, or it times out; then ends it.
 */
async function run(
  args: readonly string[],
  env: Environment,
  isEnough: (text: string) => boolean = () => false,
): Promise<FinishedRun> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const enough = Promise.withResolvers<void>();
  const text = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (piece: string) => {
      text[stream] += piece;
      if (isEnough(text.stdout + text.stderr)) enough.resolve();
    });
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const stop = new AbortController();
  const late = sleep(roomMs(25_000), undefined, { signal: stop.signal }).catch(() => undefined);
  await Promise.race([ended, enough.promise, late]);
  stop.abort();
  const hadToBeEnded = child.exitCode === null && child.signalCode === null;
  child.kill('SIGTERM');
  const forced = setTimeout(() => child.kill('SIGKILL'), roomMs(3_000));
  const exitCode = await ended;
  clearTimeout(forced);
  return { exitCode, ...text, hadToBeEnded };
}
