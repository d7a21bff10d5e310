import { dirname, join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { openSqlite } from '@gateway/database/sqlite';
import { RequestEnding, RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { directClientOf } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { localDayOf } from '@gateway/time';
import { createUsageIngestService } from '@gateway/usage-ingest/service';
import type { AllInOneTopology } from '../topologies/all-in-one.ts';
import type { Team } from './console-traffic.ts';

/**
 * Records the teams' usage of the thirty days before today, with the gateway's own ingest, into the
 * ledger of the running gateway.
 */
export async function recordMonth({ gatewayFile }: AllInOneTopology, teams: readonly Team[]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(
    await openSqlite(join(dirname(gatewayFile), 'data/gateway.sqlite'), { checkpointMs: 1_000 }),
  );
  const runtime = { logger: createLogger('month', 'warn'), metrics: new Metrics() };
  const config = { batchEvents: 500, retentionDays: 0, logRetentionDays: 7 };
  const { routes } = stack.use(createUsageIngestService(config, { database }, runtime));
  const ingest = directClientOf(routes, UsageIngestService);
  for (let daysAgo = 30; daysAgo > 0; daysAgo--) {
    await ingest.record({ requests: teams.flatMap((team) => dayOf(team, daysAgo)) });
  }
}

/** Less at weekends, and growing over time. */
function dayOf({ tokenId, share }: Team, daysAgo: number) {
  const noonMs = Date.now() - daysAgo * 86_400_000;
  const isWeekend = [0, 6].includes(new Date(noonMs).getUTCDay());
  const requests = Math.ceil(share * (isWeekend ? 1 : 4) * (1.6 - daysAgo / 40) + ((daysAgo * share) % 3));
  return Array.from({ length: requests }, (_, n) => {
    const { provider, model, accountId } = models[(n + share) % models.length] ?? models[0];
    const usage = { inputTokens: 3_000 + 170 * n, cachedTokens: 1_500 + 60 * n, outputTokens: 700 + 40 * n };
    return create(RequestRecordedSchema, {
      ...{ requestId: idAt(noonMs, share * 1_000 + n), tokenId, admittedAtMs: noonMs, localDay: localDayOf(noonMs) },
      endpoint: '/v1/chat/completions',
      ending: RequestEnding.COMPLETED,
      attempts: [{ provider, model, accountId, usage }],
    });
  });
}

const models = [
  { provider: 'provider_a', model: 'gpt-5.5', accountId: 'responses/team-a' },
  { provider: 'provider_a', model: 'gpt-5.5-mini', accountId: 'responses/team-c' },
  { provider: 'provider_b', model: 'claude-sonnet-5', accountId: 'messages/team-a' },
  { provider: 'provider_a', model: 'gpt-5.5', accountId: 'responses/team-b' },
  { provider: 'provider_b', model: 'claude-opus-4-8', accountId: 'messages/team-b' },
] as const;

/** @see RFC 9562, UUID version 7 */
function idAt(ms: number, n: number): string {
  const digits = ms.toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`;
}
