import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type BackendSetting,
  backendText,
  checkAll,
  checkPorts,
  defaultGatewayConfig,
  type Environment,
  EnvReader,
  loadGatewayFile,
} from '@gateway/config';
import { StopSignal, startFailureText } from '@gateway/lifecycle';
import { startSimulator } from '@gateway/simulator';
import {
  firstOfEach,
  mapServices,
  type ServiceOrder,
  type ServiceReport,
  type ServicesStarted,
  serviceNames,
  startBackends,
  type TestBackends,
} from '@gateway/testkit';
import { createTokenText } from '@gateway/tokens';
import { defaultCertificateFolder, ensureDevCertificates } from './dev-certificates.ts';
import { issueToken } from './issue-token.ts';
import { type RunningServices, runServices } from './run-services.ts';
import { printEnd, printLine, printProgress, type Welcome, welcomeText } from './welcome.ts';

// Starts every service in a process of its own on this machine, for trying the gateway as it runs
// in production. If the address of a server is not given (REDIS_URL, NATS_URL, DATABASE_URL), it is
// started, empty, and ends with this process.
//
// `--tls`: services speak TLS with each other, with certificates of ./data/certificates
// (`--certificates <folder>`), which are created if needed.
//
// For tests and the bench: `--replicas limiter=2` starts a service several times,
// `--set edge-router.NAME=value` is a setting of one service only. Through an IPC channel a program
// gets the list of processes, and kills, pauses and restarts them.

const helpText = `npm run start:services -- [options]

Starts each service in a process of its own, with Redis, NATS and Postgres, for trials on this machine.
Settings are environment variables: docs/operate/running.md.

  --tls                       services speak TLS with each other
  --certificates <folder>     where their certificates are, and are created (${defaultCertificateFolder})
  --replicas <service>=<n>    starts a service several times
  --set <service>.NAME=value  a setting of one service only
  --help                      prints this text
`;

try {
  if (readFlags().isHelp) process.stdout.write(helpText);
  else await runUntilStopped(process.env);
} catch (thrown) {
  process.stderr.write(`${startFailureText('The gateway', thrown)}\n`);
  process.exitCode = 1;
}

async function runUntilStopped(env: Environment): Promise<void> {
  await checkAll([() => readSettings(env), () => checkPorts(env, { PORT: 8080, ADMIN_PORT: 9090 })]);
  const settings = readSettings(env);
  // Ends when the program that opened a channel to this one ends. The channel alone does not keep
  // this process running.
  process.once('disconnect', () => process.exit(1));
  process.channel?.unref();
  using stop = new StopSignal();
  await using stack = new AsyncDisposableStack();
  try {
    process.stdout.write(await start(env, settings, stack, stop.signal));
  } catch (thrown) {
    if (!stop.signal.aborted) throw thrown;
  }
  printProgress(`stopping after ${await stop.received}`);
}

interface Settings {
  /** PORT (8080): the public HTTP port. */
  readonly port: number;
  /** ADMIN_PORT (9090): the port of the console, and of the admin service for gatewayctl. */
  readonly adminPort: number;
  /** DATABASE_URL is set: the operator manages its tokens. */
  readonly isDatabaseShared: boolean;
  /** TOKEN_HASH_KEY: required with DATABASE_URL; otherwise a random one. */
  readonly tokenHashKey: string | undefined;
  /**
   * ADMIN_TOKEN: the token of the first operator. Default: a random one; none with DATABASE_URL.
   */
  readonly adminToken: string;
  /** ADMIN_TOKEN is the operator's own: it is not printed. */
  readonly isAdminTokenGiven: boolean;
  /**
   * GATEWAY_DATA: the folder for the edge's files. Default: ./data with DATABASE_URL, otherwise a
   * temporary folder.
   */
  readonly dataFolder: string | undefined;
  /** DRAIN_TIMEOUT_SECONDS (10): how long running requests may continue after Ctrl-C. */
  readonly drainTimeoutSeconds: number;
  /** START_TIMEOUT_SECONDS (600): how long a start may take while processes make progress. */
  readonly startTimeoutMs: number;
  readonly isHelp: boolean;
  readonly certificates: string | undefined;
  readonly replicas: ReadonlyMap<string, number>;
  readonly envOf: ReadonlyMap<string, Readonly<Record<string, string>>>;
}

/** @throws ConfigError with every problem found. */
function readSettings(env: Environment): Settings {
  const reader = new EnvReader(env);
  const isDatabaseShared = reader.optional('DATABASE_URL') !== undefined;
  const adminToken = reader.optional('ADMIN_TOKEN');
  const settings: Settings = {
    port: reader.port('PORT', 8080),
    adminPort: reader.port('ADMIN_PORT', 9090),
    isDatabaseShared,
    tokenHashKey: isDatabaseShared
      ? reader.required(
          'TOKEN_HASH_KEY',
          'Tokens in the database of DATABASE_URL are hashed with it.',
          '$(openssl rand -base64 32)',
        )
      : reader.optional('TOKEN_HASH_KEY'),
    adminToken: adminToken ?? (isDatabaseShared ? '' : createTokenText('operator')),
    isAdminTokenGiven: adminToken !== undefined,
    dataFolder: reader.optional('GATEWAY_DATA') ?? (isDatabaseShared ? './data' : undefined),
    drainTimeoutSeconds: reader.integer('DRAIN_TIMEOUT_SECONDS', 10, { max: 86_400 }),
    startTimeoutMs: reader.integer('START_TIMEOUT_SECONDS', 600, { min: 1, max: 86_400 }) * 1_000,
    ...readFlags(),
  };
  reader.done();
  return settings;
}

function readFlags(): Pick<Settings, 'isHelp' | 'replicas' | 'envOf' | 'certificates'> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      tls: { type: 'boolean' },
      certificates: { type: 'string', default: defaultCertificateFolder },
      replicas: { type: 'string', multiple: true },
      set: { type: 'string', multiple: true },
    },
  });
  const counts = values.replicas?.map((text) => text.split('=')) ?? [];
  const envOf = new Map<string, Record<string, string>>();
  for (const text of values.set ?? []) {
    const [, service = '', name = '', value = ''] = /^([\w-]+)\.(\w+)=(.*)$/s.exec(text) ?? [];
    envOf.set(service, { ...envOf.get(service), [name]: value });
  }
  const certificates = values.tls === true ? resolve(values.certificates) : undefined;
  const replicas = new Map(counts.map(([service = '', count]) => [service, Number(count)]));
  return { isHelp: values.help, certificates, replicas, envOf };
}

/** Starts everything in the order of dependencies; `stack` stops it. Returns the welcome. */
async function start(
  env: Environment,
  settings: Settings,
  stack: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<string> {
  const providers = await chooseProviders(env, stack);
  printProgress('starting Redis, NATS and Postgres, unless their addresses are set');
  const { backends } = stack.use(await startBackends(env));
  signal.throwIfAborted();
  printProgress('starting the services');
  const { certificates } = settings;
  if (certificates !== undefined) await ensureDevCertificates(certificates);
  const services = await runServices(
    {
      ...settings,
      backends,
      gatewayConfigFile: providers.gatewayConfigFile,
      env: { ...env, ...providers.env },
      onWaiting: (reasons) => {
        const each = [...reasons].map(([service, reason]) => `${service} (${reason})`);
        printProgress(`waiting for ${each.join(', ')}`);
      },
      onLine: printLine,
      onUnexpectedEnd: (service, index, how) => {
        printEnd(service, how);
        report({ kind: 'ended', service, index, how });
      },
    },
    stack,
    signal,
  );
  const first = firstOfEach(services);
  const limits = { label: 'first token', requestsPerMinute: 60, tokensPerDay: 1_000_000 };
  const token = settings.isDatabaseShared
    ? undefined
    : await issueToken(first.identity.grpcUrl, limits, certificates, settings.startTimeoutMs);
  takeOrders(services);
  startEndedOnSignal(services, stack);
  const { adminToken, isAdminTokenGiven } = settings;
  const signInWith = isAdminTokenGiven ? 'ADMIN_TOKEN' : adminToken;
  const { simulatorUrl } = providers;
  return welcomeText({
    services: first,
    addresses: addressesOf(env, backends),
    simulatorUrl,
    token,
    signInWith,
    certificates,
  });
}

/**
 * If the program that started this one opened a channel, sends it the list of processes, and
 * executes its commands.
 */
function takeOrders(services: RunningServices): void {
  process.on('message', async ({ id, service, index, action }: ServiceOrder) => {
    const control = services[service][index]?.process;
    const problem = await control?.[action]().then(
      () => undefined,
      (thrown) => String(thrown),
    );
    report({ kind: 'done', id, ...pidOf(control), ...(problem !== undefined && { problem }) });
  });
  const replicas = mapServices((name) =>
    services[name].map(({ process, ...address }) => ({ ...address, ...pidOf(process) })),
  );
  report({ kind: 'started', replicas });
}

/** SIGUSR2 starts every process again that has ended, with its ports and its settings. */
function startEndedOnSignal(services: RunningServices, stack: AsyncDisposableStack): void {
  const startEnded = () => {
    for (const name of serviceNames) {
      for (const { process } of services[name].filter((each) => each.process.pid === undefined)) {
        process.restart().then(
          () => printProgress(`${name} runs again as process ${process.pid}`),
          (thrown) => printProgress(`${name} can't start again: ${thrown instanceof Error ? thrown.message : thrown}`),
        );
      }
    }
  };
  process.on('SIGUSR2', startEnded);
  stack.defer(() => void process.off('SIGUSR2', startEnded));
}

/** Where the servers listen. An address that the operator has set may contain a password. */
function addressesOf(env: Environment, { redisUrl, natsUrl, postgresUrl }: TestBackends): Welcome['addresses'] {
  const shown = (setting: BackendSetting, url: string) => (env[setting] ? backendText(setting, url) : url);
  return {
    REDIS_URL: shown('REDIS_URL', redisUrl),
    NATS_URL: shown('NATS_URL', natsUrl),
    DATABASE_URL: shown('DATABASE_URL', postgresUrl),
  };
}

function pidOf(process: { readonly pid: number | undefined } | undefined) {
  return process?.pid === undefined ? {} : { pid: process.pid };
}

function report(message: ServicesStarted | ServiceReport): void {
  process.send?.(message);
}

interface Providers {
  readonly gatewayConfigFile: string | undefined;
  /** Variables that the file refers to. */
  readonly env: Readonly<Record<string, string>>;
  /** Set if the providers are simulated. */
  readonly simulatorUrl: string | undefined;
}

/**
 * The file of GATEWAY_CONFIG, even without an account: accounts may be in the database. Without it,
 * the accounts of the environment; otherwise simulated ones, which `stack` stops.
 *
 * @throws ConfigError with every problem of the file.
 */
async function chooseProviders(env: Environment, stack: AsyncDisposableStack): Promise<Providers> {
  const file = new EnvReader(env).optional('GATEWAY_CONFIG');
  if (file !== undefined) {
    loadGatewayFile(file, env);
    return { gatewayConfigFile: resolve(file), env: {}, simulatorUrl: undefined };
  }
  if (defaultGatewayConfig(env).accounts.length > 0) {
    return { gatewayConfigFile: undefined, env: {}, simulatorUrl: undefined };
  }
  const simulator = stack.use(await startSimulator());
  return {
    gatewayConfigFile: join(import.meta.dirname, '../docker/gateway.yaml'),
    env: { SIMULATOR_URL: simulator.url },
    simulatorUrl: simulator.url,
  };
}
