import { randomBytes } from 'node:crypto';
import { checkIdentityKeys, readDatabaseUrl, readIdentityKeys } from '@gateway/all-in-one/gateway-database';
import { checkAll, type Environment } from '@gateway/config';
import { hashKeyOf } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import { readCredentialConfig, readGatewayConfig } from '@gateway/pool-broker/config';
import { withStoredAccounts } from '@gateway/pool-broker/credentials/account-directory';
import { createPoolBrokerService } from '@gateway/pool-broker/service';
import { MemoryPoolStore } from '@gateway/pool-broker/store/memory-pool-store';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { PoolBrokerService } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import { createLogger, Metrics } from '@gateway/telemetry';
import { systemClock } from '@gateway/time';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import type { ControlPlane, ServiceAddresses, UsagePlane } from './control-plane.ts';
import { openCurrentDatabase } from './stored-accounts.ts';

// The services that commands need, in this process, on the gateway's own database and files, when no gateway runs.

export async function openLocalGateway(env: Environment): Promise<ControlPlane> {
  await checkAll([
    () => checkIdentityKeys(env),
    () => readCredentialConfig(env),
    () => readGatewayConfig(env),
    () => readDatabaseUrl(env),
  ]);
  await using stack = new AsyncDisposableStack();
  const runtime = newRuntime();
  const { handle: database, description } = stack.use(await openCurrentDatabase(env));
  const identity = stack.use(createIdentityService(await readIdentityKeys(env), { database }, runtime));
  const gateway = await withStoredAccounts(readGatewayConfig(env), readCredentialConfig(env).keys, database);
  const broker = stack.use(createPoolBrokerService({ gateway }, runtime, { store: new MemoryPoolStore(systemClock) }));
  const open = stack.move();
  return {
    database: description,
    identity: directClientOf(identity.routes, IdentityService),
    broker: directClientOf(broker.routes, PoolBrokerService),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** The services that keep the ledger. They do nothing by themselves. */
export async function openLocalUsage(env: Environment, addresses: ServiceAddresses): Promise<UsagePlane> {
  await using stack = new AsyncDisposableStack();
  const runtime = newRuntime();
  const { handle: database, kind } = stack.use(await openCurrentDatabase(env));
  const query = stack.use(createUsageQueryService(readUsageQueryConfig(env), { database }, runtime));
  const ingest = stack.use(createUsageIngestService(readUsageIngestConfig(env), { database }, runtime));
  // Tokens are only listed, which takes no key: a made-up one does.
  const hashKeys = [hashKeyOf(randomBytes(32))];
  const identity = stack.use(createIdentityService({ hashKeys }, { database }, runtime));
  const open = stack.move();
  return {
    report: directClientOf(query.routes, UsageReportService),
    ledger: directClientOf(ingest.routes, UsageLedgerService),
    identity:
      addresses.identity === undefined
        ? directClientOf(identity.routes, IdentityService)
        : connectClient(IdentityService, addresses.identity),
    limiter: addresses.limiter === undefined ? undefined : connectClient(LimiterOperatorService, addresses.limiter),
    countersMayExist: kind !== 'embedded',
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

function newRuntime() {
  return { logger: createLogger('gatewayctl', 'warn'), metrics: new Metrics() };
}
