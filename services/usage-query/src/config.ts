import { type Environment, type EnvReader, readSettings } from '@gateway/config';
import { natsServers } from '@gateway/usage-stream/nats-servers';

/** What usage-query needs wherever it runs. */
export interface UsageQueryConfig {
  /** USAGE_WAIT_MILLISECONDS (1000): how long GetUsage waits for usage that is published and not in the ledger yet. */
  readonly waitMs: number;
}

export function readUsageQueryConfig(env: Environment): UsageQueryConfig {
  return readSettings(env, readWait);
}

/** What it needs when it runs as a process of its own. */
export function readUsageQueryProcessConfig(env: Environment) {
  const [example, schemes] = ['postgres://127.0.0.1:5432/gateway', ['postgres', 'postgresql']];
  return readSettings(env, (reader) => ({
    ...readWait(reader),
    // DATABASE_URL (required): the Postgres with the ledger.
    databaseUrl: reader.requiredUrl('DATABASE_URL', 'The ledger lives there.', example, schemes),
    // NATS_URL (required): the servers with the stream that edges publish to.
    natsServers: natsServers.required(reader, 'It says which usage is not in the ledger yet.'),
  }));
}

function readWait(reader: EnvReader): UsageQueryConfig {
  return { waitMs: reader.integer('USAGE_WAIT_MILLISECONDS', 1_000, { max: 10_000 }) };
}
