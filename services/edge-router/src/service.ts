import { type Environment, openFolder, TrustedProxies } from '@gateway/config';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { peerChannels } from '@gateway/lifecycle/transport';
import { AdapterService } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { Holds } from './admission/holds.ts';
import { LeaseQueue } from './admission/lease-queue.ts';
import { outageTolerant } from './admission/outage-tolerant-limiter.ts';
import { TypicalTokens } from './admission/typical-tokens.ts';
import { Leases } from './attempts/leases.ts';
import { TokenCache, watchTokenChanges } from './authentication/authenticate.ts';
import { LookupSlots } from './authentication/lookup-slots.ts';
import { type EdgeRouterConfig, readEdgeRouterConfig, readEdgeRouterPeerUrls } from './config.ts';
import { SharedQueries } from './endpoints/shared-queries.ts';
import { createEvents } from './events.ts';
import { createApp } from './http/app.ts';
import { HttpServer } from './http/server.ts';
import { lateCall } from './patience.ts';
import type { EdgeRouterPeers } from './peers.ts';
import { Pricing, watchCatalog } from './pricing/pricing.ts';
import type { UsageReport } from './request-context.ts';
import { ManagedClients } from './sign-in/managed-settings.ts';
import { Outbox } from './usage/outbox.ts';
import { createOutboxEvents, showOutboxDisk } from './usage/outbox-events.ts';
import { createRequestLog } from './usage/request-log.ts';

export interface EdgeRouterService extends Service {
  /** The port it listens on, once started. */
  readonly port: number;
}

export async function createEdgeRouterService(
  config: EdgeRouterConfig,
  peers: EdgeRouterPeers,
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  await openFolder('GATEWAY_DATA', config.outboxFolder);
  showOutboxDisk(runtime.metrics, config.outboxFolder);
  const events = createEvents(runtime);
  const stack = new AsyncDisposableStack();
  const stop = new AbortController();
  const patienceMs = peers.areOnThisMachine ? Number.POSITIVE_INFINITY : config.admissionPatienceMs;
  const deadline = peers.areOnThisMachine ? {} : lateCall;
  stack.defer(() => peers[Symbol.asyncDispose]?.());

  const outbox = stack.use(
    new Outbox({
      folder: config.outboxFolder,
      sink: peers.usageSink,
      events: createOutboxEvents(runtime.metrics, events.faulted),
      synchronous: config.outboxSynchronous,
      memoryEvents: config.outboxMemoryEvents,
    }),
  );
  const limiter = peers.limiter({ config, events });
  stack.defer(() => limiter[Symbol.asyncDispose]?.());
  const holds = stack.use(new Holds(limiter));
  const leaseQueue = new LeaseQueue(config.leaseQueueMs);
  const typicalTokens = stack.use(new TypicalTokens(peers.usageQuery, config.reservedOutputTokensMax));
  const leases = stack.use(new Leases({ broker: peers.broker, deadline, events }));
  const tokens = new TokenCache({
    resolve: async (tokenSha256) => (await peers.identity.resolve({ tokenSha256 }, deadline)).token,
    freshMs: config.tokenCacheMs,
    slots: new LookupSlots({ waitMs: lateCall.timeoutMs }),
    onStale: (fault) => events.faulted('identity', fault),
  });
  const requestLog = createRequestLog(outbox, runtime.metrics);
  const usageReports = new SharedQueries<UsageReport>();
  const pricing = new Pricing();
  const managed = new ManagedClients();
  const own = {
    config,
    patienceMs,
    deadline,
    events,
    tokens,
    proxies: new TrustedProxies(config.trustedProxies),
    limiter,
    holds,
    leaseQueue,
    typicalTokens,
    leases,
    outbox,
    pricing,
    managed,
    requestLog,
    usageReports,
  };
  const app = createApp({ ...peers, ...own });
  const server = new HttpServer(app, config, events);
  stack.defer(() => server.drain(0));

  let port = 0;
  let hasReachedIdentity = false;
  return {
    routes: [],
    dataFolder: config.outboxFolder,
    get port() {
      return port;
    },
    async start() {
      void limiter.start?.();
      void typicalTokens.refresh();
      port = await server.listen();
      const watching = watchTokenChanges(peers.identity, tokens, stop.signal, () => {
        hasReachedIdentity = true;
      });
      const following = watchCatalog(peers.broker, [pricing, managed], stop.signal);
      stack.defer(async () => {
        stop.abort();
        await Promise.all([watching, following]);
      });
    },
    notReady: async () => {
      if (port === 0) return 'not listening yet';
      // Before that, it knows no token, so that each request fails.
      return hasReachedIdentity ? undefined : 'identity has not been reached yet';
    },
    announceDrain: () => server.announceDrain(),
    drain: (timeoutMs) => server.drain(timeoutMs),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/**
 * The edge as a process of its own, or as one of several. It connects in the background, and
 * reconnects for as long as it runs.
 */
export async function createEdgeRouterFromEnvironment(
  env: Environment,
  runtime: ServiceRuntime,
): Promise<EdgeRouterService> {
  const urls = readEdgeRouterPeerUrls(env);
  // Imported lazily, so that a process without NATS never loads its client.
  const { UsagePublisher } = await import('@gateway/usage-stream');
  const stack = new AsyncDisposableStack();
  const channel = await peerChannels(runtime, stack);
  const identity = channel('identity', urls.identity);
  const publisher = stack.use(new UsagePublisher(urls.nats, runtime));
  const peers: EdgeRouterPeers = {
    identity: identity.client(IdentityService),
    signIn: identity.client(SignInService),
    limiter: outageTolerant(channel('limiter', urls.limiter).client(LimiterService)),
    broker: channel('pool-broker', urls.broker).client(PoolBrokerService),
    adapters: new Map([
      [ProviderFormat.RESPONSES, channel('responses-adapter', urls.responsesAdapter).client(AdapterService)],
      [ProviderFormat.MESSAGES, channel('messages-adapter', urls.messagesAdapter).client(AdapterService)],
    ]),
    usageQuery: channel('usage-query', urls.usageQuery).client(UsageQueryService),
    usageSink: { record: (batch, signal) => publisher.publish(batch, signal) },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  return createEdgeRouterService(readEdgeRouterConfig(env), peers, runtime);
}
