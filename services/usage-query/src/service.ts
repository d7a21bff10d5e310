import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { type Clock, systemClock } from '@gateway/time';
import { readUsageQueryProcessConfig, type UsageQueryConfig } from './config.ts';
import { usageQueryRoutes } from './routes.ts';
import { RequestFinder } from './store/request-finder.ts';
import { UsageReader } from './store/usage-reader.ts';
import { UsageReport } from './store/usage-report.ts';

export interface UsageQueryPeers {
  /** Stays the caller's: the service does not close it. */
  readonly database: GatewayDatabase;
  /** Hurries usage that is still gathered in this process into the ledger. Absent where the ledger's writer is another one. */
  readonly flush?: () => Promise<void>;
}

export interface UsageQueryOptions {
  readonly clock?: Clock;
}

/** Answers what tokens used, from any database that has the ledger's tables. */
export function createUsageQueryService(
  { waitMs }: UsageQueryConfig,
  { database, ...peers }: UsageQueryPeers,
  _runtime: ServiceRuntime,
  { clock = systemClock }: UsageQueryOptions = {},
): Service {
  const readers = { report: new UsageReport(database), finder: new RequestFinder(database) };
  return {
    routes: usageQueryRoutes({ reader: new UsageReader(database), clock, waitMs, ...peers }, readers),
    start: async () => undefined,
    notReady: createDatabaseProbe(database),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Usage queries as a process of its own, over the Postgres at DATABASE_URL. */
export async function createUsageQueryFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readUsageQueryProcessConfig(env);
  const { openPostgres } = await import('@gateway/database/postgres');
  const database = openPostgres(config.databaseUrl, { applicationName: 'usage-query' });
  return {
    ...createUsageQueryService(config, { database }, runtime),
    [Symbol.asyncDispose]: () => database.destroy(),
  };
}
