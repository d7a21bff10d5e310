import { randomBytes } from 'node:crypto';
import { create, type DescService } from '@bufbuild/protobuf';
import { type ConnectRouter, createClient, createRouterTransport, type Interceptor } from '@connectrpc/connect';
import { AuditTrail } from '@gateway/admin/access/audit-trail';
import { callerKey, type OperatorCaller } from '@gateway/admin/access/caller';
import { OperatorStore } from '@gateway/admin/access/operators';
import type { AdminParts } from '@gateway/admin/parts';
import { accountService } from '@gateway/admin/rpc/account-service';
import { auditService } from '@gateway/admin/rpc/audit-service';
import { configurationService } from '@gateway/admin/rpc/configuration-service';
import { operatorService } from '@gateway/admin/rpc/operator-service';
import { poolService } from '@gateway/admin/rpc/pool-service';
import { requestService } from '@gateway/admin/rpc/request-service';
import { tokenService } from '@gateway/admin/rpc/token-service';
import { usageService } from '@gateway/admin/rpc/usage-service';
import { checkIdentityKeys, readDatabaseUrl, readIdentityKeys } from '@gateway/all-in-one/gateway-database';
import { checkAll, type Environment } from '@gateway/config';
import type { GatewayDatabase } from '@gateway/database';
import type { IdentityConfig } from '@gateway/identity/config';
import { hashKeyOf } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import { readCredentialConfig, readGatewayConfig } from '@gateway/pool-broker/config';
import { withStoredAccounts } from '@gateway/pool-broker/credentials/account-directory';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AuditService } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { RequestService } from '@gateway/proto/admin/v1/request_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterService, ReconcileDayResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { PoolBrokerService, PoolOperatorService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageQueryService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { type Client, directClientOf, RpcError } from '@gateway/rpc';
import { connectErrorOf } from '@gateway/rpc/connect-server';
import { createLogger, Metrics } from '@gateway/telemetry';
import { systemClock } from '@gateway/time';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import type { AdminConnection } from './admin-connection.ts';
import { openCurrentDatabase } from './current-database.ts';

/**
 * The admin API in this process, with the services behind it, on the gateway's database: for commands that need no running gateway.
 * What only a running one knows is not served: sessions, replicas, health of accounts, counters of the limiter.
 *
 * @throws ConfigError
 */
export async function connectToDatabase(env: Environment, issues: boolean): Promise<AdminConnection> {
  await checkAll([
    () => issues && checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => readGatewayConfig(env),
    () => readDatabaseUrl(env),
  ]);
  await using stack = new AsyncDisposableStack();
  const { handle, description, kind } = stack.use(await openCurrentDatabase(env));
  // Only new texts of tokens take the key: for all else a made-up one does.
  const keys = issues ? await readIdentityKeys(env) : { hashKeys: [hashKeyOf(randomBytes(32))] };
  const parts = await adminParts({ env, database: handle, keys, stack });
  const transport = createRouterTransport(routesOf(parts, new OperatorStore(handle, systemClock)), {
    router: { interceptors: [asThisMachine] },
  });
  const open = stack.move();
  return {
    clientOf: (service) => createClient(service, transport),
    database: { description, kind },
    gateway: undefined,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function routesOf(parts: AdminParts, operators: OperatorStore) {
  return (router: ConnectRouter): void => {
    router.service(TokenService, tokenService(parts));
    router.service(AccountService, accountService(parts));
    router.service(PoolService, poolService(parts));
    router.service(ConfigurationService, configurationService(parts));
    router.service(RequestService, requestService(parts));
    router.service(UsageService, usageService(parts));
    router.service(OperatorService, operatorService(parts, operators));
    router.service(AuditService, auditService(parts));
  };
}

/** Whoever may read the database may do all: calls are made, and audited, in the name of the machine itself. */
const asThisMachine: Interceptor = (next) => async (request) => {
  request.contextValues.set(callerKey, machine);
  try {
    return await next(request);
  } catch (thrown) {
    throw connectErrorOf(thrown, request, () => {});
  }
};

const machine: OperatorCaller = { kind: 'operator', operatorId: '', name: 'gatewayctl', role: Role.ADMIN, address: '' };

interface Opened {
  readonly env: Environment;
  readonly database: GatewayDatabase;
  readonly keys: IdentityConfig;
  readonly stack: AsyncDisposableStack;
}

async function adminParts({ env, database, keys, stack }: Opened): Promise<AdminParts> {
  const logger = createLogger('gatewayctl', 'error');
  const runtime = { logger, metrics: new Metrics() };
  const credentials = readCredentialConfig(env);
  const gateway = await withStoredAccounts(readGatewayConfig(env), credentials.keys, database);
  const store = new MemoryPoolStore(systemClock);
  const services = [
    createIdentityService(keys, { database }, runtime),
    createPoolBrokerService({ gateway, credentials }, runtime, { store, database }),
    createUsageQueryService(readUsageQueryConfig(env), { database }, runtime),
    createUsageIngestService(readUsageIngestConfig(env), { database }, runtime),
  ];
  const routes = services.flatMap((service) => stack.use(service).routes);
  const clientOf = <S extends DescService>(service: S): Client<S> => directClientOf(routes, service);
  return {
    peers: {
      identity: clientOf(IdentityService),
      broker: clientOf(PoolBrokerService),
      poolOperator: clientOf(PoolOperatorService),
      limiter: noClient(LimiterService),
      // There are no counters without a gateway.
      limiterOperator: { reconcileDay: async () => create(ReconcileDayResponseSchema) },
      usageQuery: clientOf(UsageQueryService),
      usageReport: clientOf(UsageReportService),
      usageLedger: clientOf(UsageLedgerService),
      replicas: { read: async () => [], settings: async () => [] },
    },
    database,
    audit: new AuditTrail(database, systemClock, logger),
    clock: systemClock,
    logger,
  };
}

/** Of a service that only a running gateway has. */
function noClient<S extends DescService>(service: S): Client<S> {
  const refuse = () => Promise.reject(new RpcError('unavailable', 'No gateway runs here.'));
  // Each entry fails, whatever its kind.
  return Object.fromEntries(service.methods.map(({ localName }) => [localName, refuse])) as unknown as Client<S>;
}
