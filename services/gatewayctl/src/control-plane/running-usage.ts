import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { LimiterOperatorService } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { connectClient } from '@gateway/rpc/connect-client';
import type { ServiceAddresses, UsagePlane } from './usage-plane.ts';

/** A gateway that runs, or one service of it, reached over its admin port. */
export function openRunningUsage(adminUrl: string, addresses: ServiceAddresses): UsagePlane {
  return {
    report: connectClient(UsageReportService, adminUrl),
    ledger: connectClient(UsageLedgerService, adminUrl),
    identity: connectClient(IdentityService, addresses.identity ?? adminUrl),
    limiter: connectClient(LimiterOperatorService, addresses.limiter ?? adminUrl),
    countersMayExist: true,
    async [Symbol.asyncDispose]() {},
  };
}
