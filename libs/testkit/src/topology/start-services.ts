import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedProcess, type ProcessControl } from '../processes/managed-process.ts';
import { Undertaker } from '../processes/undertaker.ts';
import { runCommand } from '../programs/run-command.ts';
import { freePorts } from '../servers/free-port.ts';
import type { TestBackends } from '../test-backends.ts';
import {
  adminUrl,
  grpcUrl,
  type ServiceName,
  type ServicePorts,
  serviceEnvironment,
  serviceGroups,
  serviceNames,
  type TopologyAddresses,
} from './service-environment.ts';

export interface ServicesOptions {
  /** Redis, NATS and Postgres. The database must be the services' own: it is migrated. */
  readonly backends: TestBackends;
  /** The gateway.yaml. Default: what the services do without one. */
  readonly gatewayConfigFile?: string | undefined;
  /** The public HTTP port. Default: a free one. */
  readonly port?: number | undefined;
  /** Folder of the edge's journal. Default: a temporary one that is removed at the end. */
  readonly dataFolder?: string | undefined;
  /** Default: a random one, which makes tokens of earlier runs unknown. */
  readonly tokenHashKey?: string | undefined;
  /** Further settings of every service. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Settings of single services, which win over all others: a peer behind a proxy, for example. */
  readonly envOf?: Partial<Readonly<Record<ServiceName, Readonly<Record<string, string>>>>> | undefined;
  /** How long running requests may go on after a stop. Default: 10 s. */
  readonly drainTimeoutSeconds?: number | undefined;
  /** Is given every line that a service logs. */
  readonly onLine?: ((service: ServiceName, line: string) => void) | undefined;
  /** Is told when a service ends that nobody stopped or killed. It is not started again. */
  readonly onUnexpectedEnd?: ((service: ServiceName, how: string) => void) | undefined;
}

/** All services, each in a process of its own on loopback. Disposing stops them, callers before those they call. */
export interface RunningServices extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  /** Liveness, readiness, metrics, and the RPCs as JSON over HTTP. */
  readonly adminUrls: Readonly<Record<ServiceName, string>>;
  /** `http://127.0.0.1:<port>` for gRPC. */
  readonly grpcUrls: Readonly<Record<ServiceName, string>>;
  /** Restarts keep the ports. */
  readonly services: Readonly<Record<ServiceName, ProcessControl>>;
}

/**
 * Migrates the database and starts every service; resolves when all are ready.
 *
 * @throws Error with the last lines of the service that could not start.
 */
export async function startServices(options: ServicesOptions): Promise<RunningServices> {
  await using stack = new AsyncDisposableStack();
  const addresses = await chooseAddresses(options, stack);
  await migrate(options);
  const services = mapServices((name) => new ManagedProcess(planOf(name, addresses, options), undertakerOf(stack)));
  stack.defer(() => stopInOrder(services));
  const starts = await Promise.allSettled(serviceNames.map((name) => services[name].restart()));
  const failures = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('\n'));
  const running = stack.move();
  return {
    baseUrl: `http://127.0.0.1:${addresses.edgePort}`,
    adminUrls: mapServices((name) => adminUrl(addresses, name)),
    grpcUrls: mapServices((name) => grpcUrl(addresses, name)),
    services,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function chooseAddresses(options: ServicesOptions, stack: AsyncDisposableStack): Promise<TopologyAddresses> {
  const free = [...(await freePorts(serviceNames.length * 2 + 1))];
  const takePort = () => free.pop() ?? 0;
  return {
    ports: mapServices((): ServicePorts => ({ grpc: takePort(), admin: takePort() })),
    edgePort: options.port ?? takePort(),
    backends: options.backends,
    dataFolder: options.dataFolder ?? (await temporaryFolder(stack)),
    tokenHashKey: options.tokenHashKey ?? randomBytes(32).toString('base64'),
    gatewayConfigFile: options.gatewayConfigFile,
  };
}

async function temporaryFolder(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-services-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const root = join(import.meta.dirname, '../../../..');

async function migrate({ backends }: ServicesOptions): Promise<void> {
  await runCommand(process.execPath, [join(root, 'services/gatewayctl/src/main.ts'), 'migrate'], {
    timeoutMs: 120_000,
    cwd: root,
    env: { ...environmentOfPrograms(), DATABASE_URL: backends.postgresUrl },
  });
}

function planOf(name: ServiceName, addresses: TopologyAddresses, options: ServicesOptions) {
  const drainTimeoutSeconds = options.drainTimeoutSeconds ?? 10;
  return {
    name,
    command: process.execPath,
    parameters: [join(root, 'services', name, 'src/main.ts')],
    env: {
      ...environmentOfPrograms(),
      DRAIN_TIMEOUT_SECONDS: String(drainTimeoutSeconds),
      ...options.env,
      ...serviceEnvironment(name, addresses),
      ...options.envOf?.[name],
    },
    cwd: root,
    stopSignal: 'SIGTERM' as const,
    stopTimeoutMs: (drainTimeoutSeconds + 5) * 1_000,
    ping: () => askReadiness(adminUrl(addresses, name)),
    onLine: (line: string) => options.onLine?.(name, line),
    onUnexpectedEnd: (how: string) => options.onUnexpectedEnd?.(name, how),
  };
}

function environmentOfPrograms(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, HOME: process.env.HOME };
}

async function askReadiness(url: string): Promise<void> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(text.trim());
}

function undertakerOf(stack: AsyncDisposableStack): Undertaker {
  return stack.adopt(new Undertaker(), (undertaker) => undertaker.dismiss());
}

async function stopInOrder(services: Readonly<Record<ServiceName, ProcessControl>>): Promise<void> {
  for (const group of serviceGroups) await Promise.all(group.map((name) => services[name].stop()));
}

function mapServices<T>(valueFor: (name: ServiceName) => T): Record<ServiceName, T> {
  // Every name is there: the entries come from the list that the type is made of.
  return Object.fromEntries(serviceNames.map((name) => [name, valueFor(name)])) as Record<ServiceName, T>;
}
