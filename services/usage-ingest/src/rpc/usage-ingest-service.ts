import type { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { Handlers } from '@gateway/rpc';
import type { LedgerWriter } from '../recording/ledger-writer.ts';

export function usageIngestHandlers(writer: LedgerWriter): Handlers<typeof UsageIngestService> {
  return {
    /** Stores requests, each once. Answers after the commit. */
    record: async ({ requests }) => ({ recorded: await writer.record(requests) }),
  };
}
