import { UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import type { LedgerWriter } from './recording/ledger-writer.ts';
import { usageIngestHandlers } from './rpc/usage-ingest-service.ts';
import { usageLedgerHandlers } from './rpc/usage-ledger-service.ts';
import type { UsageLedger } from './store/usage-ledger.ts';

export function usageIngestRoutes(writer: LedgerWriter, ledger: UsageLedger) {
  return [
    serviceRoute(UsageIngestService, usageIngestHandlers(writer)),
    serviceRoute(UsageLedgerService, usageLedgerHandlers(ledger)),
  ];
}
