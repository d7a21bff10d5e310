import type { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Client } from '@gateway/rpc';
import type { UsageIngestConfig } from '@gateway/usage-ingest/config';
import { UsageGathering } from '@gateway/usage-stream/usage-gathering';

/** As long as the edge waits for a confirmation. */
const recordTimeoutMs = 10_000;

/**
 * Where the edge's usage goes when there is no broker: into the ledger of this process, under load in one transaction
 * for what ends within `gatherMs`. Until then it is in the edge's outbox, so that a kill loses nothing; a query flushes it.
 */
export function embeddedUsageSink(
  { gatherMs, batchEvents }: Pick<UsageIngestConfig, 'gatherMs' | 'batchEvents'>,
  ingest: Pick<Client<typeof UsageIngestService>, 'record'>,
): UsageGathering {
  return new UsageGathering({
    send: async (events, signal) => {
      await ingest.record({ events: [...events] }, { signal });
    },
    gatherMs,
    fullEvents: batchEvents,
    timeoutMs: recordTimeoutMs,
  });
}
