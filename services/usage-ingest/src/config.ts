import { type Environment, type EnvReader, readSettings } from '@gateway/config';
import { databaseUrl } from '@gateway/database/database-url';
import type { UsageStreamSettings } from '@gateway/usage-stream';
import { natsServers } from '@gateway/usage-stream/nats-servers';

export type UsageIngestConfig = ReturnType<typeof readUsageIngestConfig>;

/** Settings that usage-ingest needs in every composition. */
export function readUsageIngestConfig(env: Environment) {
  return readSettings(env, readLedgerSettings);
}

/** Additional settings to read the usage stream. */
export function readUsageStreamConfig(env: Environment) {
  return readSettings(env, (reader) => ({ ...readLedgerSettings(reader), stream: readStreamSettings(reader) }));
}

/** Settings that usage-ingest needs as a process of its own. */
export function readUsageIngestProcessConfig(env: Environment) {
  return readSettings(env, (reader) => ({
    ...readLedgerSettings(reader),
    // DATABASE_URL (required): the Postgres with the ledger.
    databaseUrl: databaseUrl.required(reader, 'The database stores the ledger.'),
    // NATS_URL (required): the servers with the stream that edges publish to.
    natsServers: natsServers.required(reader, 'NATS delivers request records.'),
    stream: readStreamSettings(reader),
  }));
}

function readLedgerSettings(reader: EnvReader) {
  // USAGE_EVENT_RETENTION_DAYS (90): how many days before today keep their events. 0: all.
  const retentionDays = reader.integer('USAGE_EVENT_RETENTION_DAYS', 90, { max: 36_500 });
  if (retentionDays > 0 && retentionDays < shortestRetentionDays) {
    reader.problem(
      `USAGE_EVENT_RETENTION_DAYS must be 0 (keep all) or at least ${shortestRetentionDays}, not ${retentionDays}. Default: 90`,
    );
  }
  return {
    // USAGE_BATCH_EVENTS (500): the maximum number of requests in one transaction.
    batchEvents: reader.integer('USAGE_BATCH_EVENTS', 500, { min: 1, max: 2_000 }),
    retentionDays,
    // REQUEST_LOG_RETENTION_DAYS (7): how many days before today keep their request log.
    logRetentionDays: reader.integer('REQUEST_LOG_RETENTION_DAYS', 7, { min: 1, max: 3_650 }),
  };
}

/**
 * A duplicate that arrives after its event was removed is indistinguishable from a new event, and
 * is not counted.
 */
const shortestRetentionDays = 31;

function readStreamSettings(reader: EnvReader): UsageStreamSettings {
  return {
    // NATS_STREAM_REPLICAS (1): copies of the stream; 3 in a NATS cluster.
    replicas: reader.integer('NATS_STREAM_REPLICAS', 1, { min: 1, max: 5 }),
    // USAGE_STREAM_MAX_AGE_HOURS (168): how long messages are kept, consumed or not.
    maxAgeMs: reader.integer('USAGE_STREAM_MAX_AGE_HOURS', 168, { min: 1, max: 8_760 }) * 3_600_000,
    // USAGE_STREAM_MAX_MEBIBYTES (1024): the size must suffice for the longest outage of the
    // ledger; a request takes about 700 bytes, including its log entry.
    maxBytes: reader.integer('USAGE_STREAM_MAX_MEBIBYTES', 1_024, { min: 1, max: 1_048_576 }) * 1_048_576,
    // USAGE_STREAM_DUPLICATE_WINDOW_SECONDS (600): how long NATS itself drops duplicates.
    duplicateWindowMs: reader.integer('USAGE_STREAM_DUPLICATE_WINDOW_SECONDS', 600, { min: 1, max: 3_600 }) * 1_000,
  };
}
