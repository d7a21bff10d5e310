import { create, type DescService } from '@bufbuild/protobuf';
import { createRouterTransport, type Interceptor, type Transport } from '@connectrpc/connect';
import { AuditTrail } from '@gateway/admin/access/audit-trail';
import { callerKey } from '@gateway/admin/access/caller';
import { OperatorStore } from '@gateway/admin/access/operators';
import { PersonRules } from '@gateway/admin/access/person-rules';
import { AlertSender } from '@gateway/admin/alerts/alert-sender';
import { readPeopleGroups } from '@gateway/admin/config';
import type { AdminParts } from '@gateway/admin/parts';
import { operationRoutes } from '@gateway/admin/routes';
import { checkAll, type Environment, readProxies, readSettings } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { IdentityConfig } from '@gateway/identity/config';
import { hashKeyOf } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import { readCredentialConfig, readGatewayConfig } from '@gateway/pool-broker/config';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { GroupService, IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { PersonService } from '@gateway/proto/identity/v1/person_service_pb.js';
import { ReconcileDayResponseSchema } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf, RpcError } from '@gateway/rpc';
import { connectErrorOf } from '@gateway/rpc/connect-server';
import { createLogger, Metrics } from '@gateway/telemetry';
import { randomBytes } from '@gateway/time';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import {
  checkIdentityKeys,
  openCurrentDatabase,
  openDatabaseToRead,
  readCredentialSettings,
  readDatabaseUrl,
  readIdentityKeys,
} from './gateway-database.ts';
import { thisMachine } from './this-machine.ts';

/** The admin API without a running gateway. */
export interface OfflineAdmin extends AsyncDisposable {
  readonly transport: Transport;
  readonly database: OfflineDatabase;
}

export interface OfflineDatabase {
  /** In words for a person. */
  readonly description: string;
  /**
   * A shared one may have other gateways, with counters in their Redis. None: it does not exist,
   * and nothing is stored.
   */
  readonly kind: 'embedded' | 'shared' | 'none';
}

/**
 * Opens the admin API and the services behind it in this process, on the gateway's database. It
 * does not serve what only a running gateway knows: sessions, replicas, health of accounts,
 * counters of the limiter.
 *
 * @param reads whether callers change nothing: a database that does not exist is not created.
 * @param issues whether callers issue tokens, which takes the gateway's own key.
 * @throws ConfigError
 */
export async function openOfflineAdmin(
  env: Environment,
  { reads, issues }: { readonly reads: boolean; readonly issues: boolean },
): Promise<OfflineAdmin> {
  await checkAll([
    () => issues && checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => readGatewayConfig(env),
    () => readDatabaseUrl(env),
  ]);
  await using stack = new AsyncDisposableStack();
  const { handle, description, kind } = stack.use(await (reads ? openDatabaseToRead(env) : openCurrentDatabase(env)));
  // Only the text of a new token depends on the key. Everything else works with a random one.
  const keys = issues ? await readIdentityKeys(env) : { hashKeys: [hashKeyOf(randomBytes(32))] };
  const credentials = kind === 'none' ? readCredentialConfig(env) : await readCredentialSettings(env);
  const parts = await openParts(env, handle, { keys, credentials }, stack);
  const transport = createRouterTransport(operationRoutes(parts, new OperatorStore(handle)), {
    router: { interceptors: [asThisMachine] },
  });
  const open = stack.move();
  return {
    transport,
    database: { description, kind },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

const asThisMachine: Interceptor = (next) => async (request) => {
  request.contextValues.set(callerKey, thisMachine);
  try {
    return await next(request);
  } catch (thrown) {
    throw connectErrorOf(thrown, request, () => {});
  }
};

async function openParts(
  env: Environment,
  database: GatewayDatabase,
  {
    keys,
    credentials,
  }: { readonly keys: IdentityConfig; readonly credentials: ReturnType<typeof readCredentialConfig> },
  stack: AsyncDisposableStack,
): Promise<AdminParts> {
  const logger = createLogger('gatewayctl', 'error');
  // A command prints results. Another command shows what a service logs, such as unused accounts.
  const runtime = { logger: createLogger('gatewayctl', 'silent'), metrics: new Metrics() };
  const gateway = readGatewayConfig(env);
  const proxies = readSettings(env, readProxies);
  const broker = createPoolBrokerService({ gateway, credentials }, runtime, {
    store: new MemoryPoolStore(),
    database,
  });
  // It is not started: it reads the accounts once, and refreshes no token.
  await broker.readAccounts();
  const services = [
    createIdentityService(keys, { database }, runtime),
    broker,
    createUsageQueryService(readUsageQueryConfig(env), { database }, runtime),
    createUsageIngestService(readUsageIngestConfig(env), { database }, runtime),
  ];
  const routes = services.flatMap((service) => stack.use(service).routes);
  const clientOf = <S extends DescService>(service: S) => directClientOf(routes, service);
  return {
    peers: {
      identity: clientOf(IdentityService),
      people: clientOf(PersonService),
      groups: clientOf(GroupService),
      broker: clientOf(PoolBrokerService),
      poolOperator: clientOf(PoolOperatorService),
      limiter: { peek: () => Promise.reject(new RpcError('unavailable', 'No gateway was called.')) },
      // There are no counters without a gateway.
      limiterOperator: { reconcileDay: async () => create(ReconcileDayResponseSchema) },
      usageQuery: clientOf(UsageQueryService),
      usageReport: clientOf(UsageReportService),
      usageLedger: clientOf(UsageLedgerService),
      adapters: new Map(),
      replicas: { read: async () => [], settings: async () => [] },
      edgeUrl: undefined,
    },
    database,
    // Groups are not looked up here: the names suffice.
    rules: new PersonRules({
      ...{ issuer: '', groups: readSettings(env, readPeopleGroups) },
      groupIds: async () => new Map(),
    }),
    audit: new AuditTrail(database, logger),
    sender: stack.use(new AlertSender({ proxies, publicUrl: undefined })),
    logger,
  };
}
