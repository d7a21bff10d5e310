import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { UsagePeriod, UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { LOCAL_TIME_ZONE } from '@gateway/time';
import { isLimited, limiterTerms } from '../admission/admit.ts';
import { sendJson } from '../http/respond.ts';
import type { AdmittedRequest, EndpointPeers, UsageReport } from '../request-context.ts';

/** How long the ledger may take to catch up and answer. */
const queryTimeoutMs = 5_000;

/**
 * Usage and limits of the calling token only. A token that asks often costs the ledger one query at
 * a time.
 * @see spec "GET /v1/usage"
 */
export async function usage({ response, token }: AdmittedRequest, peers: EndpointPeers): Promise<void> {
  const { used, status } = await peers.usageReports.ask(token.tokenId, () => reportOf(token, peers));
  sendJson(response, 200, {
    object: 'usage',
    token: { kind: token.kind === TokenKind.SERVICE ? 'service' : 'personal', label: token.label },
    timezone: LOCAL_TIME_ZONE,
    today: periodObject(used.today),
    last7Days: periodObject(used.lastSevenDays),
    limits: { requestsPerMinute: limitObject(status?.requests), tokensPerDay: limitObject(status?.tokens) },
  });
}

async function reportOf(token: Token, { usageQuery, limiter }: EndpointPeers): Promise<UsageReport> {
  const [used, status] = await Promise.all([
    usageQuery.getUsage({ tokenId: token.tokenId }, { timeoutMs: queryTimeoutMs }),
    isLimited(token) ? limiter.peek(limiterTerms(token)) : undefined,
  ]);
  return { used, status };
}

/** @see spec "Usage object" */
function periodObject(period: UsagePeriod | undefined) {
  return {
    since: isoOf(period?.since),
    ...totalsObject(period?.totals),
    byModel: (period?.byModel ?? []).map(({ provider, model, totals }) => ({
      provider,
      model,
      ...totalsObject(totals),
    })),
  };
}

function totalsObject(totals: UsageTotals | undefined) {
  const inputTokens = Number(totals?.inputTokens ?? 0n);
  const outputTokens = Number(totals?.outputTokens ?? 0n);
  return {
    requests: Number(totals?.requests ?? 0n),
    inputTokens,
    cachedTokens: Number(totals?.cachedTokens ?? 0n),
    outputTokens,
    totalTokens: inputTokens + outputTokens,
  };
}

function limitObject(limit: LimitStatus['requests'] | LimitStatus['tokens']) {
  if (limit === undefined) return null;
  return { limit: Number(limit.limit), remaining: Number(limit.remaining), resetsAt: isoOf(limit.resetsAt) };
}

function isoOf(at: Timestamp | undefined): string | null {
  return at === undefined ? null : timestampDate(at).toISOString();
}
