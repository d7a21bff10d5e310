import { type Environment, EnvReader, readDrainTimeoutSeconds } from '@gateway/config';
import { readAllowedHosts } from '@gateway/lifecycle';
import { mostWorkers, parseWorkerCount } from '@gateway/lifecycle/worker-count';
import { type LogLevel, logLevels } from '@gateway/telemetry';
import { natsUrls } from '@gateway/usage-stream/nats-urls';

/** What the all-in-one needs besides the settings of the services in it. */
export interface AllInOneConfig {
  /** HOST (127.0.0.1) */
  readonly host: string;
  /** ADMIN_PORT (9090): liveness, readiness, metrics, and what gatewayctl calls. */
  readonly adminPort: number;
  /** ADMIN_ALLOWED_HOSTS: further host names under which the admin port may be called. */
  readonly adminAllowedHosts: readonly string[];
  /** LOG_LEVEL (warn): the terminal belongs to the welcome text. */
  readonly logLevel: LogLevel;
  /** DRAIN_TIMEOUT_SECONDS (MAX_STREAM_SECONDS, 3600): how long running streams may take to end after SIGTERM. */
  readonly drainTimeoutMs: number;
  /** DATABASE_URL: Postgres; without it SQLite in GATEWAY_DATA. */
  readonly databaseUrl: string | undefined;
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
    host: reader.string('HOST', '127.0.0.1'),
    adminPort: reader.port('ADMIN_PORT', 9090),
    adminAllowedHosts: readAllowedHosts(reader),
    logLevel: reader.oneOf('LOG_LEVEL', logLevels, 'warn'),
    drainTimeoutMs: readDrainTimeoutSeconds(reader) * 1_000,
    databaseUrl: reader.optionalUrl('DATABASE_URL', 'postgres://user:password@127.0.0.1:5432/gateway', [
      'postgres',
      'postgresql',
    ]),
    migrateAtStart: reader.boolean('MIGRATE_AT_START', false),
    redisUrl: reader.optionalUrl('REDIS_URL', 'redis://127.0.0.1:6379', ['redis', 'rediss']),
    natsUrls: natsUrls.optional(reader),
    workers: parseWorkerCount(workers) ?? 1,
    simulatorPort: reader.port('SIMULATOR_PORT', 0),
  };
  reader.done();
  return Object.freeze(config);
}
