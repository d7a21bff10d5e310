import type { Environment } from '@gateway/config';
import { createDatabaseProbe } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { readUsageQueryProcessConfig, type UsageQueryConfig } from './config.ts';
import { RequestFeed } from './request-log/request-feed.ts';
import { usageQueryRoutes } from './routes.ts';
import type { UsageQueryParts } from './rpc/usage-query-service.ts';

/** The database belongs to the caller: the service does not close it. */
export type UsageQueryPeers = Pick<UsageQueryParts, 'database' | 'progress'>;

/** Reports usage and requests from any database that has the ledger's tables. */
export function createUsageQueryService(
  { waitMs }: UsageQueryConfig,
  { database, progress }: UsageQueryPeers,
  { logger, metrics }: ServiceRuntime,
  { watchPollMs }: { readonly watchPollMs?: number } = {},
): Service {
  const late = metrics.counter({
    name: 'gateway_usage_late_answers_total',
    help: 'GetUsage answers without all published usage: the ledger lags, or NATS does not answer.',
  });
  const onLate = (fault: unknown) => {
    late.inc();
    logger.debug({ err: fault }, 'the ledger lags behind the usage stream');
  };
  const feed = new RequestFeed(database, logger, watchPollMs);
  return {
    routes: usageQueryRoutes({ database, waitMs, onLate, progress }, feed),
    start: async () => undefined,
    notReady: createDatabaseProbe(database),
    drain: async () => feed.stop(),
    [Symbol.asyncDispose]: () => feed[Symbol.asyncDispose](),
  };
}

/**
 * Usage queries as a process of its own, with the Postgres at DATABASE_URL and the stream at
 * NATS_URL.
 */
export async function createUsageQueryFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const { databaseUrl, natsServers, ...config } = readUsageQueryProcessConfig(env);
  const { openPostgres } = await import('@gateway/database/postgres');
  const { LedgerProgress } = await import('@gateway/usage-stream');
  const stack = new AsyncDisposableStack();
  const options = { applicationName: 'usage-query', metrics: runtime.metrics };
  const database = stack.use(openPostgres(databaseUrl, options));
  const progress = stack.use(new LedgerProgress(natsServers, runtime));
  const service = stack.use(createUsageQueryService(config, { database, progress }, runtime));
  return { ...service, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
