import { type Environment, readSettings } from '@gateway/config';
import { readOwnConfig } from '@gateway/lifecycle';
import { readWorkerCount } from '@gateway/lifecycle/worker-pool';
import { redisSettings } from '@gateway/redis/redis-settings';
import { natsServers } from '@gateway/usage-stream/nats-servers';

/** What the all-in-one needs besides the settings of the services in it, and DATABASE_URL. */
export type AllInOneConfig = ReturnType<typeof readAllInOneConfig>;

export function readAllInOneConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    // The terminal belongs to the welcome text.
    ...readOwnConfig(reader, 'warn'),
    // MIGRATE_AT_START (false): bring the tables of DATABASE_URL up to date first. The embedded ones always are.
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
    // REDIS_URL: shared limits and pool state; without it they are kept in memory.
    redis: redisSettings.optional(reader),
    // NATS_URL: usage goes over JetStream; without it straight to the ledger.
    natsServers: natsServers.optional(reader),
    // GATEWAY_WORKERS (1): processes that serve on the public port; `auto`: one for each core.
    workers: readWorkerCount(reader, 'GATEWAY_WORKERS', ' (--workers)'),
    // SIMULATOR_PORT (0, a free one): where the simulated providers listen when no account is configured.
    simulatorPort: reader.port('SIMULATOR_PORT', 0),
  }));
}
