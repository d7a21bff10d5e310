import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService, SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import {
  CredentialService,
  PoolBrokerService,
  PoolOperatorService,
} from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Values } from './values.ts';

export const portNumbers = { public: 8080, grpc: 50_051, credentials: 50_052, admin: 9090 } as const;
export type PortName = keyof typeof portNumbers;

export type ServiceName = (typeof services)[number]['name'];
export type Backend = 'postgres' | 'redis' | 'nats';

/** The facts that a cluster needs to run a service. */
export interface Service {
  readonly name: string;
  /** Its place in the values. */
  readonly key: keyof Values['services'];
  readonly ports: readonly PortName[];
  readonly serves: readonly { readonly typeName: string }[];
  /** Settings with the addresses of its peers. */
  readonly peers: Readonly<Record<string, Peer>>;
  readonly backends: readonly Backend[];
  /** Its own secrets, besides the addresses of its backends, by setting. */
  readonly secrets: Readonly<Record<string, SecretKey>>;
  /** Optional ones. */
  readonly optionalSecrets: Readonly<Record<string, SecretKey>>;
  /**
   * Whether it opens connections to the internet: to providers, to their token endpoints, to an
   * OpenID Connect provider, or to receivers of warnings.
   */
  readonly reachesProviders: boolean;
  /**
   * Whether it carries streams: then a drain waits for the longest stream, otherwise for short
   * calls.
   */
  readonly carriesStreams: boolean;
  /** Whether it keeps files, on a volume that outlives the pod. */
  readonly keepsData: boolean;
  /** Whether operators reach its admin port, and it reads the metrics of all others. */
  readonly isForOperators: boolean;
  readonly settings: (values: Values) => Readonly<Record<string, string>>;
  /** The most memory of its processes: a heap for each thread, and memory outside of heaps. */
  readonly memoryMiB: (values: Values) => number;
}

/** A Secret by its place in the values, which have its name. */
export type SecretKey = keyof Values['secrets'];

interface Peer {
  readonly service: string;
  readonly port: PortName;
}

/** Node itself: code, stacks, buffers of sockets. */
export const nodeMiB = 192;
/** Threads that translate large requests have heaps of their own. */
const translationWorkers = 2;
/** Answers that are put together, outside of the heap. */
export const adapterBuffersMiB = 256;
/** Buffers of TLS and of compressed bodies, and the outbox's pages. */
const edgeBuffersMiB = 320;

const ofAService = {
  ports: ['grpc', 'admin'],
  peers: {},
  backends: [],
  secrets: {},
  optionalSecrets: {},
  reachesProviders: false,
  carriesStreams: false,
  keepsData: false,
  isForOperators: false,
  settings: () => ({}),
} as const;

const ofAnAdapter = {
  ...ofAService,
  serves: [AdapterService],
  peers: {
    POOL_BROKER_URL: { service: 'pool-broker', port: 'grpc' },
    CREDENTIAL_URL: { service: 'pool-broker', port: 'credentials' },
  },
  reachesProviders: true,
  carriesStreams: true,
  settings: () => ({ TRANSLATION_WORKERS: String(translationWorkers) }),
} as const;

export const services = [
  {
    ...ofAService,
    name: 'edge-router',
    key: 'edgeRouter',
    ports: ['public', 'admin'],
    serves: [],
    peers: {
      IDENTITY_URL: { service: 'identity', port: 'grpc' },
      LIMITER_URL: { service: 'limiter', port: 'grpc' },
      POOL_BROKER_URL: { service: 'pool-broker', port: 'grpc' },
      RESPONSES_ADAPTER_URL: { service: 'responses-adapter', port: 'grpc' },
      MESSAGES_ADAPTER_URL: { service: 'messages-adapter', port: 'grpc' },
      USAGE_QUERY_URL: { service: 'usage-query', port: 'grpc' },
    },
    backends: ['nats'],
    carriesStreams: true,
    keepsData: true,
    settings: ({ services: { edgeRouter } }) => ({
      GATEWAY_DATA: '/data',
      BODY_MEMORY_MAX_MIB: String(edgeRouter.bodyMemoryMiB),
    }),
    memoryMiB: ({ services: { edgeRouter } }) =>
      edgeRouter.heapMiB + edgeRouter.bodyMemoryMiB + edgeBuffersMiB + nodeMiB,
  },
  {
    ...ofAService,
    name: 'limiter',
    key: 'limiter',
    serves: [LimiterService, LimiterOperatorService],
    peers: { USAGE_QUERY_URL: { service: 'usage-query', port: 'grpc' } },
    backends: ['redis'],
    memoryMiB: (values) => values.services.limiter.heapMiB + nodeMiB,
  },
  {
    ...ofAService,
    name: 'pool-broker',
    key: 'poolBroker',
    ports: ['grpc', 'credentials', 'admin'],
    serves: [PoolBrokerService, PoolOperatorService, CredentialService],
    backends: ['redis', 'postgres'],
    secrets: { ACCOUNT_KEYS: 'accounts' },
    reachesProviders: true,
    settings: () => ({ GATEWAY_CONFIG: '/etc/gateway/config/gateway.yaml' }),
    memoryMiB: (values) => values.services.poolBroker.heapMiB + nodeMiB,
  },
  {
    ...ofAnAdapter,
    name: 'responses-adapter',
    key: 'responsesAdapter',
    memoryMiB: ({ services: { responsesAdapter } }) => adapterMemoryMiB(responsesAdapter.heapMiB),
  },
  {
    ...ofAnAdapter,
    name: 'messages-adapter',
    key: 'messagesAdapter',
    memoryMiB: ({ services: { messagesAdapter } }) => adapterMemoryMiB(messagesAdapter.heapMiB),
  },
  {
    ...ofAService,
    name: 'identity',
    key: 'identity',
    serves: [IdentityService, GroupService, PersonService, SignInService],
    backends: ['postgres'],
    secrets: { TOKEN_HASH_KEY: 'identity' },
    memoryMiB: (values) => values.services.identity.heapMiB + nodeMiB,
  },
  {
    ...ofAService,
    name: 'usage-ingest',
    key: 'usageIngest',
    serves: [UsageIngestService, UsageLedgerService],
    backends: ['postgres', 'nats'],
    memoryMiB: (values) => values.services.usageIngest.heapMiB + nodeMiB,
  },
  {
    ...ofAService,
    name: 'usage-query',
    key: 'usageQuery',
    serves: [UsageQueryService, UsageReportService],
    backends: ['postgres', 'nats'],
    memoryMiB: (values) => values.services.usageQuery.heapMiB + nodeMiB,
  },
  {
    ...ofAService,
    name: 'admin',
    key: 'admin',
    ports: ['admin'],
    serves: [],
    peers: {
      IDENTITY_URL: { service: 'identity', port: 'grpc' },
      LIMITER_URL: { service: 'limiter', port: 'grpc' },
      POOL_BROKER_URL: { service: 'pool-broker', port: 'grpc' },
      USAGE_QUERY_URL: { service: 'usage-query', port: 'grpc' },
      USAGE_INGEST_URL: { service: 'usage-ingest', port: 'grpc' },
      RESPONSES_ADAPTER_URL: { service: 'responses-adapter', port: 'grpc' },
      MESSAGES_ADAPTER_URL: { service: 'messages-adapter', port: 'grpc' },
    },
    backends: ['postgres'],
    secrets: { ADMIN_TOKEN: 'admin' },
    optionalSecrets: { OIDC_CLIENT_SECRET: 'oidc', PERSON_KEYS: 'oidc' },
    reachesProviders: true,
    isForOperators: true,
    // The Service that clients reach, too.
    settings: () => ({ EDGE_URL: 'http://gateway' }),
    memoryMiB: (values) => values.services.admin.heapMiB + nodeMiB,
  },
] as const satisfies readonly Service[];

/** The setting with a backend's address, and the Secret that holds it under the setting's name. */
export const backendSecrets: Readonly<Record<Backend, { readonly setting: string; readonly secret: SecretKey }>> = {
  postgres: { setting: 'DATABASE_URL', secret: 'database' },
  redis: { setting: 'REDIS_URL', secret: 'redis' },
  nats: { setting: 'NATS_URL', secret: 'nats' },
};

function adapterMemoryMiB(heapMiB: number): number {
  return heapMiB * (1 + translationWorkers) + adapterBuffersMiB + nodeMiB;
}
