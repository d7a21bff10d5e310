import type { Environment, GatewayConfig } from '@gateway/config';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import type { EdgeRouterService } from '@gateway/edge-router/service';
import type { UsageSink } from '@gateway/edge-router/usage/outbox';
import { createIdentityService } from '@gateway/identity/service';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { readLimiterConfig } from '@gateway/limiter/config';
import { createLimiterService } from '@gateway/limiter/service';
import { readCredentialConfig } from '@gateway/pool-broker/credentials/credential-config';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { CredentialService, PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type Client, directClientOf, type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import type { AllInOneConfig } from './config.ts';
import { openStores, openUsageStream } from './drivers.ts';
import { createFront, type FrontPeers, firstReason, ledgerSink } from './front.ts';
import { migrateGatewayDatabase, openGatewayDatabase, readIdentityKeys } from './gateway-database.ts';

/** All services, wired and started: by direct calls in one process, or with the front in workers. Disposing it stops them in reverse order. */
export interface ComposedGateway extends AsyncDisposable {
  readonly edge: EdgeRouterService;
  readonly identity: Client<typeof IdentityService>;
  /** What operators may call. Credentials are not among it. */
  readonly adminRoutes: readonly ServiceRoute[];
  /** Why requests can't be taken now; undefined when they can. */
  notReady(): Promise<string | undefined>;
}

export async function composeGateway(
  env: Environment,
  config: AllInOneConfig,
  gateway: GatewayConfig,
  runtime: ServiceRuntime,
): Promise<ComposedGateway> {
  await using stack = new AsyncDisposableStack();
  const services: Service[] = [];
  const run = async <S extends Service>(service: S): Promise<S> => {
    services.push(stack.use(service));
    await service.start();
    return service;
  };

  if (config.databaseUrl === undefined || config.migrateAtStart) await migrateGatewayDatabase(env);
  const database = stack.use(await openGatewayDatabase(env, 'requests')).handle;
  const { limitStore, poolStore } = await openStores(env, config.redisUrl, runtime, stack);
  const stream = config.natsUrls && (await openUsageStream(env, config.natsUrls, runtime, stack));

  const identity = await run(createIdentityService(await readIdentityKeys(env), { database }, runtime));
  const ingestPeers = { database, ...(stream && { consumer: stream.consumer }) };
  const ingest = await run(createUsageIngestService(readUsageIngestConfig(env), ingestPeers, runtime));
  const queryPeers = { database, ...(stream && { progress: stream.progress }) };
  const query = await run(createUsageQueryService(readUsageQueryConfig(env), queryPeers, runtime));
  const limiterPeers = { usageQuery: directClientOf(query.routes, UsageQueryService) };
  const limiter = await run(createLimiterService(readLimiterConfig(env), limiterPeers, runtime, { store: limitStore }));
  const brokerConfig = { gateway, credentials: readCredentialConfig(env) };
  const broker = await run(createPoolBrokerService(brokerConfig, runtime, { store: poolStore, database }));
  const usageSink = stream?.sink ?? ledgerSink(directClientOf(ingest.routes, UsageIngestService));
  const routes = [identity, limiter, broker, query].flatMap((service) => service.routes);
  const createEdge = async () => {
    if (config.workers === 1) return createFront(env, { ...peersOf(routes), usageSink }, runtime);
    // One process without a network needs no gRPC.
    const { createFrontWorkers } = await import('./workers/front-workers.ts');
    const { host, port } = readEdgeRouterConfig(env);
    return createFrontWorkers({ count: config.workers, host, port }, [...routes, sinkRoute(usageSink)], runtime);
  };
  const edge = await run(await createEdge());

  const running = stack.move();
  return {
    edge,
    identity: directClientOf(identity.routes, IdentityService),
    adminRoutes: [identity, query, ingest, limiter, broker, edge].flatMap(({ adminRoutes, routes }: Service) => [
      ...(adminRoutes ?? routes),
    ]),
    notReady: () => firstReason(services),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function peersOf(routes: readonly ServiceRoute[]): Omit<FrontPeers, 'usageSink'> {
  return {
    identity: directClientOf(routes, IdentityService),
    limiter: directClientOf(routes, LimiterService),
    broker: directClientOf(routes, PoolBrokerService),
    credentials: directClientOf(routes, CredentialService),
    usageQuery: directClientOf(routes, UsageQueryService),
  };
}

/** What workers hand usage to. */
function sinkRoute(sink: UsageSink): ServiceRoute {
  return serviceRoute(UsageIngestService, {
    record: async (batch, { signal }) => {
      await sink.record(batch, signal);
      return {};
    },
  });
}
