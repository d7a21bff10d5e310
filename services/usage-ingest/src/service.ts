import type { Environment } from '@gateway/config';
import { createDatabaseProbe, type GatewayDatabase } from '@gateway/database';
import type { Service, ServiceRuntime } from '@gateway/lifecycle';
import { type Clock, systemClock } from '@gateway/time';
import { readUsageIngestProcessConfig, type UsageIngestConfig } from './config.ts';
import type { UsageConsumer } from './consumer/usage-consumer.ts';
import { createIngestEvents } from './ingest-events.ts';
import { UsageRecorder } from './recording/usage-recorder.ts';
import { usageIngestRoute } from './routes.ts';
import { UsageLedger } from './store/usage-ledger.ts';

export interface UsageIngestPeers {
  /** Stays the caller's: the service does not close it. */
  readonly database: GatewayDatabase;
  /** Brings events by itself; without it they come by `Record` only. Closed with the service. */
  readonly consumer?: UsageConsumer;
}

export interface UsageIngestOptions {
  readonly clock?: Clock;
}

/** The way into the ledger, over any database that has its tables. */
export function createUsageIngestService(
  config: UsageIngestConfig,
  { database, consumer }: UsageIngestPeers,
  runtime: ServiceRuntime,
  { clock = systemClock }: UsageIngestOptions = {},
): Service {
  const recorder = new UsageRecorder({
    ledger: new UsageLedger(database),
    clock,
    events: createIngestEvents(runtime),
    batchEvents: config.batchEvents,
  });
  const databaseProblem = createDatabaseProbe(database);
  return {
    routes: [usageIngestRoute(recorder)],
    start: async () => consumer?.start(recorder),
    notReady: async () => (await databaseProblem()) ?? consumer?.problem(),
    drain: async () => consumer?.drain(),
    [Symbol.asyncDispose]: async () => consumer?.[Symbol.asyncDispose](),
  };
}

/** Ingest as a process of its own, from the stream at NATS_URL into the Postgres at DATABASE_URL. */
export async function createUsageIngestFromEnvironment(env: Environment, runtime: ServiceRuntime): Promise<Service> {
  const config = readUsageIngestProcessConfig(env);
  const { openPostgres } = await import('@gateway/database/postgres');
  const { NatsUsageConsumer } = await import('./consumer/nats-usage-consumer.ts');
  const database = openPostgres(config.databaseUrl, { applicationName: 'usage-ingest' });
  const consumer = new NatsUsageConsumer({
    url: config.natsUrl,
    stream: config.stream,
    batchEvents: config.batchEvents,
    logger: runtime.logger,
    events: createIngestEvents(runtime),
  });
  const service = createUsageIngestService(config, { database, consumer }, runtime);
  return {
    ...service,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await database.destroy();
    },
  };
}
