import { type Environment, readSettings } from '@gateway/config';
import { readOwnConfig } from '@gateway/lifecycle';
import { readWorkerCount } from '@gateway/lifecycle/worker-pool';
import { redisSettings } from '@gateway/redis/redis-settings';
import { natsServers } from '@gateway/usage-stream/nats-servers';

/** Settings of the all-in-one besides those of its services and DATABASE_URL. */
export type AllInOneConfig = ReturnType<typeof readAllInOneConfig>;

export function readAllInOneConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    // The terminal is reserved for the welcome text.
    ...readOwnConfig(reader, 'warn'),
    // MIGRATE_AT_START (false): run missing migrations of DATABASE_URL first. The embedded database
    // is always migrated.
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
    // REDIS_URL: shared limits and pool state; without it they are kept in memory.
    redis: redisSettings.optional(reader),
    // NATS_URL: usage is sent over JetStream; without it directly to the ledger.
    natsServers: natsServers.optional(reader),
    // GATEWAY_WORKERS (1): processes that serve the public port; `auto`: one per core.
    workers: readWorkerCount(reader, 'GATEWAY_WORKERS', ' (--workers)'),
    // SIMULATOR_PORT (0, a free one): the port of the simulated providers when no account is
    // configured.
    simulatorPort: reader.port('SIMULATOR_PORT', 0),
  }));
}
