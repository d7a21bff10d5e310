import { type Environment, EnvReader } from '@gateway/config';
import { type OwnConfig, readOwnConfig } from '@gateway/lifecycle';
import { mostWorkers, parseWorkerCount } from '@gateway/lifecycle/worker-count';
import { natsUrls } from '@gateway/usage-stream/nats-urls';

/** What the all-in-one needs besides the settings of the services in it, and DATABASE_URL. */
export interface AllInOneConfig extends OwnConfig {
  /** MIGRATE_AT_START (false): bring the tables of DATABASE_URL up to date first. The embedded ones always are. */
  readonly migrateAtStart: boolean;
  /** REDIS_URL: shared limits and pool state; without it they are kept in memory. */
  readonly redisUrl: string | undefined;
  /** NATS_URL: usage goes over JetStream; without it straight to the ledger. */
  readonly natsUrls: readonly string[] | undefined;
  /** GATEWAY_WORKERS (1): processes that serve on the public port; `auto`: one for each core. */
  readonly workers: number;
  /** SIMULATOR_PORT (0, a free one): where the simulated providers listen when no account is configured. */
  readonly simulatorPort: number;
}

export function readAllInOneConfig(env: Environment): AllInOneConfig {
  const reader = new EnvReader(env);
  const workers = reader.string('GATEWAY_WORKERS', '1');
  if (parseWorkerCount(workers) === undefined) {
    reader.problem(`GATEWAY_WORKERS (--workers) must be auto or a number from 1 to ${mostWorkers}, not "${workers}".`);
  }
  const config: AllInOneConfig = {
    // The terminal belongs to the welcome text.
    ...readOwnConfig(reader, 'warn'),
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
    redisUrl: reader.optionalUrl('REDIS_URL', 'redis://127.0.0.1:6379', ['redis', 'rediss']),
    natsUrls: natsUrls.optional(reader),
    workers: parseWorkerCount(workers) ?? 1,
    simulatorPort: reader.port('SIMULATOR_PORT', 0),
  };
  reader.done();
  return config;
}
