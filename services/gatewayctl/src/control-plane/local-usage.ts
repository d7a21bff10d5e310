import { randomBytes } from 'node:crypto';
import { openGatewayDatabase } from '@gateway/all-in-one/gateway-database';
import { ConfigError, type Environment } from '@gateway/config';
import { migrate, pendingMigrations } from '@gateway/database';
import { hashKeyOf } from '@gateway/identity/hashing/hash-key';
import { createIdentityService } from '@gateway/identity/service';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { connectClient } from '@gateway/rpc/connect-client';
import { createLogger, Metrics } from '@gateway/telemetry';
import { readUsageIngestConfig } from '@gateway/usage-ingest/config';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { readUsageQueryConfig } from '@gateway/usage-query/config';
import { createUsageQueryService } from '@gateway/usage-query/service';
import type { ServiceAddresses, UsagePlane } from './usage-plane.ts';

/** The services that keep the ledger, in this process, on the gateway's own database. They do nothing by themselves. */
export async function openLocalUsage(env: Environment, addresses: ServiceAddresses): Promise<UsagePlane> {
  await using stack = new AsyncDisposableStack();
  const runtime = { logger: createLogger('gatewayctl', 'warn'), metrics: new Metrics() };
  const { handle: database, kind, description } = stack.use(await openGatewayDatabase(env));
  if (kind === 'embedded') await migrate(database);
  else if ((await pendingMigrations(database)).length > 0) {
    throw new ConfigError([`${description} is not up to date. Run gatewayctl migrate first.`]);
  }
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
