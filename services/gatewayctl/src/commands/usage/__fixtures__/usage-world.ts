import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { openTestSqlite } from '@gateway/database/testing';
import { createIdentityService } from '@gateway/identity/service';
import { IdentityService } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { UsageLedgerService, UsageReportService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { Outcome, type UsageRecorded, UsageRecordedSchema } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf, RpcError } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import { createUsageQueryService } from '@gateway/usage-query/service';
import { RememberingTerminal } from '../../../__fixtures__/remembering-terminal.ts';
import type { UsagePlane } from '../../../control-plane.ts';

/** The services of the ledger over a database of their own, and a terminal that remembers. No limiter. */
export async function openUsageWorld() {
  const { database, ...opened } = await openTestSqlite();
  const runtime = { logger: createLogger('test', 'silent'), metrics: new Metrics() };
  const ingest = createUsageIngestService(
    { batchEvents: 500, retentionDays: 90, logRetentionDays: 7 },
    { database },
    runtime,
  );
  const query = createUsageQueryService({ waitMs: 0 }, { database }, runtime);
  const identity = createIdentityService({ hashKeys: [{ id: 'k', secret: Buffer.alloc(32) }] }, { database }, runtime);
  const recorder = directClientOf(ingest.routes, UsageIngestService);
  const plane: UsagePlane = {
    report: directClientOf(query.routes, UsageReportService),
    ledger: directClientOf(ingest.routes, UsageLedgerService),
    identity: directClientOf(identity.routes, IdentityService),
    limiter: undefined,
    countersMayExist: false,
    async [Symbol.asyncDispose]() {},
  };
  return {
    database,
    plane,
    terminal: new RememberingTerminal(),
    record: (...events: UsageRecorded[]) => recorder.record({ events }),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

let requests = 0;

/** A completed request of 10 input and 5 output tokens. */
export function usageEvent(tokenId: string, localDay: string, model = 'gpt-5.5'): UsageRecorded {
  return create(UsageRecordedSchema, {
    requestId: `request-${requests++}`,
    tokenId,
    admittedAt: timestampFromMs(Date.parse('2026-11-20T10:00:00Z')),
    localDay,
    endpoint: '/v1/responses',
    provider: 'provider_a',
    model,
    inputTokens: 10n,
    cachedTokens: 4n,
    outputTokens: 5n,
    outcome: Outcome.COMPLETED,
  });
}

/** What a call fails with at a process that does not serve it. */
export function unimplemented(): Promise<never> {
  return Promise.reject(new RpcError('internal', 'HTTP 404', { cause: { code: 12 } }));
}
