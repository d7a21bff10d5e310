import { loadGatewayFile } from '@gateway/config';
import type { CreateLimiter } from '@gateway/edge-router/admission/admit';
import { OutageTolerantLimiter, outageTolerant } from '@gateway/edge-router/admission/outage-tolerant-limiter';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { createEdgeRouterService } from '@gateway/edge-router/service';
import { parseHashKeys } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import type { Service } from '@gateway/lifecycle';
import { readLimiterConfig } from '@gateway/limiter/config';
import { createLimiterService } from '@gateway/limiter/service';
import { SharedLimitStore } from '@gateway/limiter/store/shared-limit-store';
import type { LimitStore } from '@gateway/limits';
import { readMessagesAdapterConfig } from '@gateway/messages-adapter/config';
import { createMessagesAdapterService } from '@gateway/messages-adapter/service';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { withFallback } from '@gateway/pool-broker/store/fallback-pool-store';
import type { SharedPoolStore } from '@gateway/pool-broker/store/pool-store';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { readResponsesAdapterConfig } from '@gateway/responses-adapter/config';
import { createResponsesAdapterService } from '@gateway/responses-adapter/service';
import { epochMs } from '@gateway/time';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import type { JetStreamModel } from '../stores/jet-stream.ts';
import { watchedBroker } from '../stores/known-leases.ts';
import { remoteObject, serveObject } from '../stores/remote-object.ts';
import { streamConsumer, streamSink } from '../stores/usage-stream.ts';
import { credentialPort, type Host } from './cluster.ts';

/** What runs in a process. */
export type Program = (host: Host) => Promise<Service>;

/**
 * The programs of every process, wired as the product wires them for processes of their own. They
 * start in this order.
 */
export const programs = {
  redis: startRedis,
  nats: startNats,
  identity: startIdentity,
  'usage-ingest': startIngest,
  'usage-query': startQuery,
  limiter: startLimiter,
  'pool-broker': startBroker,
  'responses-adapter': (host) => startAdapter(host, 'responses'),
  'messages-adapter': (host) => startAdapter(host, 'messages'),
  edge: startEdge,
} satisfies Record<string, Program>;

const redisAddress = 'redis-1:6379';
const natsAddress = 'nats-1:4222';
/** As long as a Redis of the product may give no sign of life. */
const redisTimeoutMs = 2_000;
const natsTimeoutMs = 5_000;

async function startRedis({ network, backends }: Host): Promise<Service> {
  serveObject(network, 6379, () => backends.redis.limits);
  serveObject(network, 6380, () => backends.redis.pools);
  return backend;
}

async function startNats({ network, backends }: Host): Promise<Service> {
  backends.stream.forgetFetches();
  serveObject(network, 4222, () => backends.stream);
  return backend;
}

const backend: Service = {
  routes: [],
  start: async () => undefined,
  notReady: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

async function startIdentity({ runtime, backends }: Host): Promise<Service> {
  const hashKeys = parseHashKeys(Buffer.alloc(32, 7).toString('base64')) ?? [];
  return createIdentityService({ hashKeys }, backends, runtime);
}

async function startIngest({ network, runtime, backends: { database } }: Host): Promise<Service> {
  const stream = remoteObject<JetStreamModel>(network, natsAddress, { timeoutMs: natsTimeoutMs });
  return createUsageIngestService(readUsageIngestConfig({}), { database, consumer: streamConsumer(stream) }, runtime);
}

async function startQuery({ runtime, backends: { database } }: Host): Promise<Service> {
  return createUsageQueryService(readUsageQueryConfig({}), { database }, runtime);
}

async function startLimiter({ network, runtime, watchAway, channel }: Host): Promise<Service> {
  const onReconnected = () => store.noteReconnected();
  const redis = remoteObject<LimitStore>(network, redisAddress, { timeoutMs: redisTimeoutMs, onReconnected });
  const store = new SharedLimitStore(redis, runtime);
  watchAway(() => store.isAway);
  const usageQuery = channel('usage-query').client(UsageQueryService);
  const service = createLimiterService(readLimiterConfig({}), { usageQuery }, runtime, { store });
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      store[Symbol.dispose]();
    },
  };
}

async function startBroker({ network, runtime, backends, gatewayFile }: Host): Promise<Service> {
  const remote = remoteObject<SharedPoolStore>(network, 'redis-1:6380', { timeoutMs: redisTimeoutMs });
  const own: Pick<SharedPoolStore, 'nowMs' | 'isTimeKnown'> = { nowMs: epochMs, isTimeKnown: true };
  const shared = new Proxy(remote, { get: (target, name) => Reflect.get(name in own ? own : target, name) });
  const store = withFallback(shared, () => backends.redis.leases.noteOutage());
  return createPoolBrokerService({ gateway: loadGatewayFile(gatewayFile.path, {}) }, runtime, { store });
}

async function startAdapter({ runtime, channel }: Host, format: 'responses' | 'messages'): Promise<Service> {
  const peers = {
    broker: channel('pool-broker').client(PoolBrokerService),
    credentials: channel('pool-broker', credentialPort).client(CredentialService),
  };
  // Translation in threads is outside of simulated time. Providers that fall silent must not make
  // the quiet phase of every run ten minutes long.
  const env = {
    TRANSLATION_WORKERS: '0',
    UPSTREAM_FIRST_BYTE_TIMEOUT_SECONDS: '60',
    UPSTREAM_IDLE_TIMEOUT_SECONDS: '30',
  };
  return format === 'responses'
    ? createResponsesAdapterService(readResponsesAdapterConfig(env), peers, runtime)
    : createMessagesAdapterService(readMessagesAdapterConfig(env), peers, runtime);
}

async function startEdge(host: Host): Promise<Service> {
  const { network, runtime, folder, outboxSynchronous, backends, watchAway, channel } = host;
  const stream = remoteObject<JetStreamModel>(network, natsAddress, { timeoutMs: natsTimeoutMs });
  const createLimiter: CreateLimiter = (edge) => {
    const limiter = outageTolerant(channel('limiter').client(LimiterService))(edge);
    if (limiter instanceof OutageTolerantLimiter) watchAway(() => limiter.isAway);
    return limiter;
  };
  const peers = {
    identity: channel('identity').client(IdentityService),
    signIn: channel('identity').client(SignInService),
    limiter: createLimiter,
    broker: watchedBroker(channel('pool-broker').client(PoolBrokerService), backends.redis.leases),
    adapters: new Map([
      [ProviderFormat.RESPONSES, channel('responses-adapter').client(AdapterService)],
      [ProviderFormat.MESSAGES, channel('messages-adapter').client(AdapterService)],
    ]),
    usageQuery: channel('usage-query').client(UsageQueryService),
    usageSink: streamSink(stream),
  };
  // Requests of the world have short answers. Larger reservations would leave budgets unspent.
  const env = {
    GATEWAY_DATA: folder,
    EDGE_OUTBOX_SYNCHRONOUS: outboxSynchronous,
    RESERVED_OUTPUT_TOKENS_MAX: '1000',
  };
  return createEdgeRouterService(readEdgeRouterConfig(env), peers, runtime);
}
