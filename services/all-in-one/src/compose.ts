import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Environment, simulatedGatewayConfig } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import { readEdgeRouterConfig } from '@gateway/edge-router/config';
import { createIdentityService } from '@gateway/identity/service';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { faultLog } from '@gateway/lifecycle/transport';
import { createWorkerPool } from '@gateway/lifecycle/worker-pool';
import { readLimiterConfig, readStandAloneLimiterConfig } from '@gateway/limiter/config';
import { createLimiterService } from '@gateway/limiter/service';
import { EmbeddedLimitStore } from '@gateway/limiter/store/embedded-limit-store';
import { readGatewayConfig } from '@gateway/pool-broker/config';
import { AccountTable } from '@gateway/pool-broker/credentials/account-table';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { SignInService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageIngestService, UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf, type ServiceRoute, serviceRoute } from '@gateway/rpc';
import { readUsageIngestConfig, readUsageStreamConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import { createAdmin } from './admin.ts';
import type { AllInOneConfig } from './config.ts';
import { DataFolder } from './data-folder.ts';
import { createFront, firstReason } from './front.ts';
import {
  checkMigrated,
  migrateGatewayDatabase,
  openGatewayDatabase,
  readCredentialSettings,
  readDatabaseUrl,
  readIdentityKeys,
} from './gateway-database.ts';
import { openProbingAdapters } from './probing-adapters.ts';

// Client libraries of Redis, NATS and gRPC are loaded only if a setting requires them.

/**
 * All services, wired and started: with direct calls in one process, or with the front in workers.
 * Disposal stops them in reverse order.
 */
export async function composeGateway(env: Environment, config: AllInOneConfig, runtime: ServiceRuntime) {
  await using stack = new AsyncDisposableStack();
  const wiring = { env, config, runtime, stack };
  const services: Service[] = [];
  const run = async <S extends Service>(service: S): Promise<S> => {
    services.push(stack.use(service));
    await service.start();
    return service;
  };

  if (config.migrateAtStart || readDatabaseUrl(env) === undefined) await migrateGatewayDatabase(env);
  // Long enough that a page that changes with every commit is copied once for many commits.
  const { handle: database } = stack.use(
    await openGatewayDatabase(env, { checkpointMs: 5_000, metrics: runtime.metrics }),
  );
  await checkMigrated(database);
  const { gateway, simulatorUrl } = await chooseProviders(wiring, database);
  const { limitStore, poolStore } = await openStores(wiring);
  const stream = await openUsageStream(wiring);

  const identity = await run(createIdentityService(await readIdentityKeys(env), { database }, runtime));
  const ingest = await run(
    createUsageIngestService(readUsageIngestConfig(env), { database, ...stream?.ofIngest }, runtime),
  );
  const query = await run(
    createUsageQueryService(readUsageQueryConfig(env), { database, ...stream?.ofQuery }, runtime),
  );
  const limiterPeers = { usageQuery: directClientOf(query.routes, UsageQueryService) };
  const limiter = await run(createLimiterService(readLimiterConfig(env), limiterPeers, runtime, { store: limitStore }));
  const brokerConfig = { gateway, credentials: await readCredentialSettings(env) };
  const broker = await run(createPoolBrokerService(brokerConfig, runtime, { store: poolStore, database }));
  const others = [identity, limiter, broker, query].flatMap((service) => service.routes);
  const routes = [...others, ...broker.credentialRoutes, ...(stream ? [stream.route] : ingest.routes)];
  const edge = await run(
    config.workers > 1
      ? await createFrontWorkers(wiring, routes)
      : await createFront(env, (each) => directClientOf(routes, each), config, runtime, limiter.limiter),
  );
  const notReady = () => firstReason(services);
  const adapters = openProbingAdapters(env, [...broker.routes, ...broker.credentialRoutes], runtime, stack);
  const behindAdmin = { routes: [...others, ...ingest.routes], adapters, edgePort: edge.port, notReady };
  const admin = await run(await createAdmin({ ...wiring, database, ...behindAdmin }));

  const running = stack.move();
  return {
    edge,
    /** Set when no account is configured and the providers are simulated. */
    simulatorUrl,
    gateway,
    identity: directClientOf(identity.routes, IdentityService),
    signIn: directClientOf(identity.routes, SignInService),
    broker: directClientOf(broker.routes, PoolBrokerService),
    admin,
    /** Why requests can't be taken now; undefined when they can. */
    notReady,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** The inputs of every part of the wiring. The stack closes what they open. */
interface Wiring {
  readonly env: Environment;
  readonly config: AllInOneConfig;
  readonly runtime: ServiceRuntime;
  readonly stack: AsyncDisposableStack;
}

/**
 * The configured accounts; without any, simulated ones, so that the first request gets an answer.
 */
async function chooseProviders({ env, config, stack }: Wiring, database: GatewayDatabase) {
  const gateway = readGatewayConfig(env);
  const stored = await new AccountTable(database).list();
  if (gateway.accounts.length + stored.length > 0) return { gateway, simulatorUrl: undefined };
  const { startSimulator } = await import('@gateway/simulator');
  const { url } = stack.use(await startSimulator({ port: config.simulatorPort }));
  return { gateway: simulatedGatewayConfig(url), simulatorUrl: url };
}

/** In memory without a REDIS_URL. */
async function openStores({ env, config: { redis }, runtime, stack }: Wiring) {
  if (redis === undefined) {
    const { admissionsFile: path } = await DataFolder.open(env);
    const { memoryMaxKeys: maxKeys } = readLimiterConfig(env);
    const limitStore = stack.use(new EmbeddedLimitStore({ path, maxKeys, runtime }));
    return { limitStore, poolStore: new MemoryPoolStore() };
  }
  const { openSharedLimitStore } = await import('@gateway/limiter/store/shared-limit-store');
  const { openSharedPoolStore } = await import('@gateway/pool-broker/store/fallback-pool-store');
  const limitStore = openSharedLimitStore(readStandAloneLimiterConfig(env), runtime, stack);
  return { limitStore, poolStore: stack.use(await openSharedPoolStore(redis, runtime)) };
}

/** Sends usage to the ledger over JetStream. Undefined without a NATS_URL. */
async function openUsageStream({ env, config: { natsServers: servers }, runtime, stack }: Wiring) {
  if (servers === undefined) return undefined;
  const { LedgerProgress, UsagePublisher } = await import('@gateway/usage-stream');
  const { NatsUsageConsumer } = await import('@gateway/usage-ingest/consumer/nats-usage-consumer');
  const publisher = stack.use(new UsagePublisher(servers, runtime));
  return {
    ofIngest: { consumer: new NatsUsageConsumer({ ...readUsageStreamConfig(env), servers, ...runtime }) },
    ofQuery: { progress: stack.use(new LedgerProgress(servers, runtime)) },
    /** Replaces the ingest's own route, which writes to the ledger directly. */
    route: serviceRoute(UsageIngestService, {
      record: async ({ requests }, { signal }) => {
        await publisher.publish(requests, signal);
        return {};
      },
    }),
  };
}

/**
 * The front in several processes. They reach the services of this process over a socket in a folder
 * that only the gateway's own user may enter, because provider credentials are sent over it.
 */
async function createFrontWorkers({ env, config, runtime, stack }: Wiring, routes: readonly ServiceRoute[]) {
  const { GrpcServer } = await import('@gateway/rpc/grpc');
  // mkdtemp creates folders for this user only.
  const folder = await mkdtemp(join(tmpdir(), 'gateway-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const address = `unix:${join(folder, 'primary')}`;
  const { logger, metrics } = runtime;
  const server = await GrpcServer.listen({ host: address, port: 0, routes, metrics, onFault: faultLog(logger) });
  stack.defer(() => server.stop(0));
  const { host, port } = readEdgeRouterConfig(env);
  const program = fileURLToPath(new URL('./front-worker.ts', import.meta.url));
  return createWorkerPool({ program, args: [address], count: config.workers, host, port }, runtime);
}
