import type { EnvReader } from './env-reader.ts';

/** MAX_STREAM_SECONDS (3600): no answer lasts longer. The same for the edge, which ends it, and for adapters, which stop asking. */
export function readMaxStreamSeconds(reader: EnvReader): number {
  return reader.integer('MAX_STREAM_SECONDS', 3_600, { min: 1, max: 86_400 });
}

/** DRAIN_TIMEOUT_SECONDS: how long running work may take to end after SIGTERM. As long as the longest stream, unless it is set. */
export function readDrainTimeoutSeconds(reader: EnvReader): number {
  return reader.integer('DRAIN_TIMEOUT_SECONDS', readMaxStreamSeconds(reader), { max: 86_400 });
}
