import { type Environment, EnvReader } from '@gateway/config';
import { natsUrls } from '@gateway/usage-stream/nats-urls';

/** What usage-query needs wherever it runs. */
export interface UsageQueryConfig {
  /** USAGE_WAIT_MILLISECONDS (1000): how long GetUsage waits for usage that is published and not in the ledger yet. */
  readonly waitMs: number;
}

/** What it needs besides when it runs as a process of its own. */
export interface UsageQueryProcessConfig extends UsageQueryConfig {
  /** DATABASE_URL (required): the Postgres with the ledger. */
  readonly databaseUrl: string;
  /** NATS_URL (required): the servers with the stream that edges publish to. */
  readonly natsUrls: readonly string[];
}

export function readUsageQueryConfig(env: Environment): UsageQueryConfig {
  const reader = new EnvReader(env);
  const config = readWait(reader);
  reader.done();
  return Object.freeze(config);
}

export function readUsageQueryProcessConfig(env: Environment): UsageQueryProcessConfig {
  const reader = new EnvReader(env);
  const config: UsageQueryProcessConfig = {
    ...readWait(reader),
    databaseUrl: reader.requiredUrl('DATABASE_URL', 'The ledger lives there.', 'postgres://127.0.0.1:5432/gateway', [
      'postgres',
      'postgresql',
    ]),
    natsUrls: natsUrls.required(reader, 'It tells which usage is not in the ledger yet.'),
  };
  reader.done();
  return Object.freeze(config);
}

function readWait(reader: EnvReader): UsageQueryConfig {
  return { waitMs: reader.integer('USAGE_WAIT_MILLISECONDS', 1_000, { max: 10_000 }) };
}
