import { type Environment, EnvReader } from '@gateway/config';

/** What usage-query needs wherever it runs. */
export interface UsageQueryConfig {
  /** USAGE_WAIT_MILLISECONDS (2000): how long GetUsage waits for requests that have ended but are not in the ledger yet. */
  readonly waitMs: number;
}

/** What it needs besides when it runs as a process of its own. */
export interface UsageQueryProcessConfig extends UsageQueryConfig {
  /** DATABASE_URL (required): the Postgres with the ledger. */
  readonly databaseUrl: string;
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
  };
  reader.done();
  return Object.freeze(config);
}

function readWait(reader: EnvReader): UsageQueryConfig {
  return { waitMs: reader.integer('USAGE_WAIT_MILLISECONDS', 2_000, { max: 10_000 }) };
}
