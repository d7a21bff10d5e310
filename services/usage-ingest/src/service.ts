import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { readUsageIngestProcessConfig, type UsageIngestConfig } from './config.ts';
import type { NatsUsageConsumer } from './consumer/nats-usage-consumer.ts';
import { createIngestMetrics } from './metrics.ts';
import { LedgerWriter } from './recording/ledger-writer.ts';
import { tendDays } from './retention/tend-days.ts';
import { usageIngestRoutes } from './routes.ts';
import { UsageLedger } from './store/usage-ledger.ts';

export interface UsageIngestPeers {
  /** Belongs to the caller: the service does not close it. */
  readonly database: GatewayDatabase;
  /**
   * Reads events from the stream; without it they arrive by `Record` only. Closed with the service.
   */
  readonly consumer?: UsageConsumer;
}

/** What reads the stream: a simulated world has one without NATS. */
export type UsageConsumer = Pick<NatsUsageConsumer, 'start' | 'problem' | 'drain' | typeof Symbol.asyncDispose>;

/** The way into the ledger, for any database that has its tables. */
export function createUsageIngestService(
  { batchEvents, retentionDays, logRetentionDays }: UsageIngestConfig,
  { database, consumer }: UsageIngestPeers,
  runtime: ServiceRuntime,
): Service {
  const stopping = new AbortController();
  const { signal } = stopping;
  const parts = { signal, logger: runtime.logger, metrics: createIngestMetrics(runtime.metrics) };
  const ledger = new UsageLedger(database);
  const writer = new LedgerWriter({ ...parts, ledger, batchEvents });
  const databaseProblem = createDatabaseProbe(database);
  let tending: Promise<unknown> = Promise.resolve();
  return {
    routes: usageIngestRoutes(writer, ledger),
    async start() {
      tending = Promise.all([
        tendDays({ ...parts, days: ledger.days, retentionDays }),
        tendDays({ ...parts, days: ledger.logDays, retentionDays: logRetentionDays }),
      ]);
      consumer?.start(writer);
    },
    notReady: async () => (await databaseProblem()) ?? consumer?.problem(),
    drain: async () => consumer?.drain(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await consumer?.[Symbol.asyncDispose]();
      await writer.logs[Symbol.asyncDispose]();
      await tending;
    },
  };
}

/**
 * Ingest as a process of its own, from the stream at NATS_URL into the Postgres at DATABASE_URL.
 */
export async function createUsageIngestFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readUsageIngestProcessConfig(env);
  const { openPostgres } = await import('@gateway/database/postgres');
  const { NatsUsageConsumer: Consumer } = await import('./consumer/nats-usage-consumer.ts');
  const stack = new AsyncDisposableStack();
  const options = { applicationName: 'usage-ingest', metrics: runtime.metrics };
  const database = stack.use(openPostgres(config.databaseUrl, options));
  const consumer = new Consumer({ ...config, servers: config.natsServers, ...runtime });
  const service = stack.use(createUsageIngestService(config, { database, consumer }, runtime));
  return { ...service, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
