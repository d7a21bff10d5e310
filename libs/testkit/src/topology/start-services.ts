import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ManagedProcess, type ProcessControl } from '../processes/managed-process.ts';
import { ProcessReaper } from '../processes/process-reaper.ts';
import { runCommand } from '../programs/run-command.ts';
import { freePorts } from '../servers/ports.ts';
import type { TestBackends } from '../test-backends.ts';
import {
  adminUrl,
  environmentOfPrograms,
  grpcUrl,
  repositoryRoot,
  type ServiceName,
  type ServiceOptions,
  type ServicePorts,
  serviceGroups,
  serviceNames,
  servicePlan,
  type TopologyAddresses,
} from './service-plan.ts';

export interface ServicesOptions extends ServiceOptions {
  /** Redis, NATS and Postgres. The database must be the services' own: it is migrated. */
  readonly backends: TestBackends;
  /** The gateway.yaml. Default: what the services do without one. */
  readonly gatewayConfigFile?: string | undefined;
  /** The public HTTP port. Default: a free one. */
  readonly port?: number | undefined;
  /** Folder of the edge's outbox. Default: a temporary one that is removed at the end. */
  readonly dataFolder?: string | undefined;
  /** Default: a random one, which makes tokens of earlier runs unknown. */
  readonly tokenHashKey?: string | undefined;
  /** How many processes of a service there are; one of each by default. */
  readonly replicas?: Partial<Readonly<Record<ServiceName, number>>> | undefined;
  /** Aborting it ends the start: what runs by then is stopped. */
  readonly signal?: AbortSignal | undefined;
}

/** One process of a service. Restarts keep its ports and its folder. */
export interface ServiceReplica extends ProcessControl {
  /** Liveness, readiness, metrics, and the RPCs as JSON over HTTP. */
  readonly adminUrl: string;
  /** `http://127.0.0.1:<port>` for gRPC. */
  readonly grpcUrl: string;
  /** `http://127.0.0.1:<port>` of the public API; only the edge has one. */
  readonly publicUrl: string | undefined;
  /** What it keeps on disk; only the edge has such a folder. */
  readonly dataFolder: string | undefined;
}

/** All services, each in processes of its own on loopback. Disposing stops them, callers before those they call. */
export interface RunningServices extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` of the public API. */
  readonly baseUrl: string;
  /** Liveness, readiness, metrics, and the RPCs as JSON over HTTP. */
  readonly adminUrls: Readonly<Record<ServiceName, string>>;
  /** `http://127.0.0.1:<port>` for gRPC. */
  readonly grpcUrls: Readonly<Record<ServiceName, string>>;
  /** The first process of each service. Restarts keep the ports. */
  readonly services: Readonly<Record<ServiceName, ProcessControl>>;
  /** Every process of each service, the first one included. The second of a service calls the second of its peers, if there is one. */
  readonly replicas: Readonly<Record<ServiceName, readonly ServiceReplica[]>>;
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
  const replicas = mapServices((name) =>
    addresses.slice(0, replicaCount(name, options)).map((each) => replicaOf(name, each, options, reaperOf(stack))),
  );
  stack.defer(() => stopInOrder(replicas));
  options.signal?.throwIfAborted();
  await allStarted(
    serviceNames.flatMap((name) => replicas[name].map((each) => each.restart())),
    options.signal,
  );
  const running = stack.move();
  const services = mapServices((name) => firstOf(replicas[name]));
  return {
    baseUrl: services['edge-router'].publicUrl ?? '',
    adminUrls: mapServices((name) => services[name].adminUrl),
    grpcUrls: mapServices((name) => services[name].grpcUrl),
    services,
    replicas,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The addresses that the first processes of all services use, those that the second ones use, and so on. */
async function chooseAddresses(
  options: ServicesOptions,
  stack: AsyncDisposableStack,
): Promise<readonly TopologyAddresses[]> {
  const counts = mapServices((name) => replicaCount(name, options));
  const most = Math.max(...serviceNames.map((name) => counts[name]));
  const free = [...(await freePorts(serviceNames.length * most * 2 + most))];
  const takePort = () => free.pop() ?? 0;
  const ports = mapServices((name) =>
    Array.from({ length: counts[name] }, (): ServicePorts => ({ grpc: takePort(), admin: takePort() })),
  );
  const tokenHashKey = options.tokenHashKey ?? randomBytes(32).toString('base64');
  const isFirst = (index: number) => index === 0;
  return Promise.all(
    Array.from({ length: most }, async (_, index) => ({
      ports: mapServices((name) => ports[name][index % counts[name]] ?? { grpc: 0, admin: 0 }),
      edgePort: (isFirst(index) ? options.port : undefined) ?? takePort(),
      backends: options.backends,
      dataFolder: (isFirst(index) ? options.dataFolder : undefined) ?? (await temporaryFolder(stack)),
      tokenHashKey,
      gatewayConfigFile: options.gatewayConfigFile,
    })),
  );
}

function replicaCount(name: ServiceName, { replicas }: ServicesOptions): number {
  return Math.max(1, replicas?.[name] ?? 1);
}

function replicaOf(
  name: ServiceName,
  addresses: TopologyAddresses,
  options: ServicesOptions,
  reaper: ProcessReaper,
): ServiceReplica {
  const isEdge = name === 'edge-router';
  return Object.assign(new ManagedProcess(servicePlan(name, addresses, options), reaper), {
    adminUrl: adminUrl(addresses, name),
    grpcUrl: grpcUrl(addresses, name),
    publicUrl: isEdge ? `http://127.0.0.1:${addresses.edgePort}` : undefined,
    dataFolder: isEdge ? addresses.dataFolder : undefined,
  });
}

function firstOf(replicas: readonly ServiceReplica[]): ServiceReplica {
  const [first] = replicas;
  if (first === undefined) throw new Error('Every service has a process.');
  return first;
}

async function temporaryFolder(stack: AsyncDisposableStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-services-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function migrate({ backends }: ServicesOptions): Promise<void> {
  await runCommand(process.execPath, [join(repositoryRoot, 'services/gatewayctl/src/main.ts'), 'migrate'], {
    timeoutMs: 120_000,
    cwd: repositoryRoot,
    env: { ...environmentOfPrograms(), DATABASE_URL: backends.postgresUrl },
  });
}

/**
 * Does not wait for the others once one has failed, but for a little while: what is wrong with one is often wrong with several.
 *
 * @throws AggregateError of the failures; the signal's reason once it is aborted.
 */
async function allStarted(starts: readonly Promise<void>[], signal: AbortSignal | undefined): Promise<void> {
  const failures: Error[] = [];
  const aborted = signal === undefined ? [] : [rejectedWhenAborted(signal)];
  for (const start of starts) {
    start.catch((thrown) => failures.push(thrown instanceof Error ? thrown : new Error(String(thrown))));
  }
  try {
    await Promise.race([Promise.all(starts), ...aborted]);
  } catch {
    signal?.throwIfAborted();
    await Promise.race([Promise.allSettled(starts), sleep(furtherFailuresMs)]);
    throw new AggregateError(failures, failures.map(({ message }) => message).join('\n'));
  }
}

const furtherFailuresMs = 2_000;

function rejectedWhenAborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  promise.catch(() => undefined);
  return promise;
}

function reaperOf(stack: AsyncDisposableStack): ProcessReaper {
  return stack.adopt(new ProcessReaper(), (reaper) => reaper.dismiss());
}

async function stopInOrder(replicas: RunningServices['replicas']): Promise<void> {
  for (const group of serviceGroups) {
    await Promise.all(group.flatMap((name) => replicas[name].map((each) => each.stop())));
  }
}

function mapServices<T>(valueFor: (name: ServiceName) => T): Record<ServiceName, T> {
  // Every name is there: the entries come from the list that the type is made of.
  return Object.fromEntries(serviceNames.map((name) => [name, valueFor(name)])) as Record<ServiceName, T>;
}
