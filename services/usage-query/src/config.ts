import { type Environment, type EnvReader, readSettings } from '@gateway/config';
import { databaseUrl } from '@gateway/database/database-url';
import { natsServers } from '@gateway/usage-stream/nats-servers';

/** Settings that usage-query needs in every composition. */
export type UsageQueryConfig = ReturnType<typeof readUsageQueryConfig>;

export function readUsageQueryConfig(env: Environment) {
  return readSettings(env, readWait);
}

/** Settings that usage-query needs as a process of its own. */
export function readUsageQueryProcessConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    ...readWait(reader),
    // DATABASE_URL (required): the Postgres with the ledger.
    databaseUrl: databaseUrl.required(reader, 'The database stores the ledger.'),
    // NATS_URL (required): the servers with the stream that edges publish to.
    natsServers: natsServers.required(reader, 'NATS shows which usage is not in the ledger yet.'),
  }));
}

function readWait(reader: EnvReader) {
  // USAGE_WAIT_MILLISECONDS (1000): how long GetUsage waits for published usage that is not in the
  // ledger yet.
  return { waitMs: reader.integer('USAGE_WAIT_MILLISECONDS', 1_000, { max: 10_000 }) };
}
