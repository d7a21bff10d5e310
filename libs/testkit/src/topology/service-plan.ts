import { join } from 'node:path';
import type { ProcessPlan } from '../processes/managed-process.ts';
import type { TestBackends } from '../test-backends.ts';

/** What is said of the process of a service besides its addresses. */
export interface ServiceOptions {
  /** Further settings of every service. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Settings of single services, which win over all others: a peer behind a proxy, for example. */
  readonly envOf?: Partial<Readonly<Record<ServiceName, Readonly<Record<string, string>>>>> | undefined;
  /** How long running requests may go on after a stop. Default: 10 s. */
  readonly drainTimeoutSeconds?: number | undefined;
  /** Is given every line that a service logs. */
  readonly onLine?: ((service: ServiceName, line: string) => void) | undefined;
  /** Called when a service ends that was neither stopped nor killed here. It is not started again. */
  readonly onUnexpectedEnd?: ((service: ServiceName, how: string) => void) | undefined;
}

/** How the process of a service is started, known to be ready, and stopped. */
export function servicePlan(name: ServiceName, addresses: TopologyAddresses, options: ServiceOptions): ProcessPlan {
  const drainTimeoutSeconds = options.drainTimeoutSeconds ?? 10;
  return {
    name,
    command: process.execPath,
    parameters: [join(repositoryRoot, 'services', name, 'src/main.ts')],
    env: {
      ...environmentOfPrograms(),
      DRAIN_TIMEOUT_SECONDS: String(drainTimeoutSeconds),
      ...options.env,
      ...serviceEnvironment(name, addresses),
      ...options.envOf?.[name],
    },
    cwd: repositoryRoot,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: (drainTimeoutSeconds + 5) * 1_000,
    ping: () => askReadiness(adminUrl(addresses, name)),
    onLine: (line) => options.onLine?.(name, line),
    onUnexpectedEnd: (how) => options.onUnexpectedEnd?.(name, how),
  };
}

export const repositoryRoot = join(import.meta.dirname, '../../../..');

export function environmentOfPrograms(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE };
}

async function askReadiness(url: string): Promise<void> {
  const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(text.trim());
}

/** Every service in groups, callers before those they call: the order in which they stop. */
export const serviceGroups = [
  ['edge-router'],
  ['responses-adapter', 'messages-adapter', 'usage-ingest'],
  ['limiter', 'pool-broker', 'identity'],
  ['usage-query'],
] as const;

export type ServiceName = (typeof serviceGroups)[number][number];

export const serviceNames: readonly ServiceName[] = serviceGroups.flat();

export interface ServicePorts {
  readonly grpc: number;
  readonly admin: number;
}

/** Everything that the settings of the services are made of. */
export interface TopologyAddresses {
  readonly ports: Readonly<Record<ServiceName, ServicePorts>>;
  /** The public HTTP port. */
  readonly edgePort: number;
  readonly backends: TestBackends;
  /** Folder of the edge's outbox. */
  readonly dataFolder: string;
  readonly tokenHashKey: string;
  /** Absent: the services use their default configuration. */
  readonly gatewayConfigFile?: string | undefined;
}

/** The addresses and secrets of one service, as environment variables. */
export function serviceEnvironment(name: ServiceName, addresses: TopologyAddresses): Readonly<Record<string, string>> {
  const { grpc, admin } = addresses.ports[name];
  return {
    HOST: '127.0.0.1',
    GRPC_PORT: String(grpc),
    ADMIN_PORT: String(admin),
    ...settingsOf[name](addresses),
  };
}

export function grpcUrl({ ports }: TopologyAddresses, name: ServiceName): string {
  return `http://127.0.0.1:${ports[name].grpc}`;
}

export function adminUrl({ ports }: TopologyAddresses, name: ServiceName): string {
  return `http://127.0.0.1:${ports[name].admin}`;
}

type Settings = (addresses: TopologyAddresses) => Readonly<Record<string, string>>;

const adapter: Settings = (addresses) => ({ POOL_BROKER_URL: grpcUrl(addresses, 'pool-broker') });

const settingsOf: Readonly<Record<ServiceName, Settings>> = {
  'edge-router': (addresses) => ({
    PORT: String(addresses.edgePort),
    LIMITER_URL: grpcUrl(addresses, 'limiter'),
    POOL_BROKER_URL: grpcUrl(addresses, 'pool-broker'),
    RESPONSES_ADAPTER_URL: grpcUrl(addresses, 'responses-adapter'),
    MESSAGES_ADAPTER_URL: grpcUrl(addresses, 'messages-adapter'),
    IDENTITY_URL: grpcUrl(addresses, 'identity'),
    USAGE_QUERY_URL: grpcUrl(addresses, 'usage-query'),
    NATS_URL: addresses.backends.natsUrl,
    GATEWAY_DATA: addresses.dataFolder,
  }),
  'responses-adapter': adapter,
  'messages-adapter': adapter,
  limiter: (addresses) => ({
    REDIS_URL: addresses.backends.redisUrl,
    USAGE_QUERY_URL: grpcUrl(addresses, 'usage-query'),
  }),
  'pool-broker': ({ backends, gatewayConfigFile }) => ({
    REDIS_URL: backends.redisUrl,
    ...(gatewayConfigFile === undefined ? {} : { GATEWAY_CONFIG: gatewayConfigFile }),
  }),
  identity: ({ backends, tokenHashKey }) => ({ DATABASE_URL: backends.postgresUrl, TOKEN_HASH_KEY: tokenHashKey }),
  'usage-ingest': ({ backends }) => ({ DATABASE_URL: backends.postgresUrl, NATS_URL: backends.natsUrl }),
  'usage-query': ({ backends }) => ({ DATABASE_URL: backends.postgresUrl, NATS_URL: backends.natsUrl }),
};
