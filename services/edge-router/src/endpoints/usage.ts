import { type Token, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { UsagePeriod, UsageTotals } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { epochMs, LOCAL_TIME_ZONE } from '@gateway/time';
import { type CallTimes, isLimited, limiterTerms, shownInstant } from '../admission/admit.ts';
import type { Call } from '../call.ts';
import { sendJson } from '../http/respond.ts';
import type { EndpointPeers, LimitObject, UsageReport } from '../request-context.ts';

/**
 * Usage and limits of the calling token only. A token that asks often costs the ledger one query at
 * a time.
 * @see spec "GET /v1/usage"
 */
export async function usage({ response, token, patience }: Call, peers: EndpointPeers): Promise<void> {
  const ask = () => peers.usageReports.ask(token.tokenId, () => reportOf(token, peers));
  const { used, limits } = await patience.within(ask);
  sendJson(response, 200, {
    object: 'usage',
    token: { kind: token.kind === TokenKind.SERVICE ? 'service' : 'personal', label: token.label },
    timezone: LOCAL_TIME_ZONE,
    today: periodObject(used.today),
    last7Days: periodObject(used.lastSevenDays),
    limits,
  });
}

async function reportOf(token: Token, peers: EndpointPeers): Promise<UsageReport> {
  const { usageQuery, deadline } = peers;
  const [used, limits] = await Promise.all([
    usageQuery.getUsage({ tokenId: token.tokenId }, deadline),
    isLimited(token) ? limitsOf(token, peers) : unlimited,
  ]);
  return { used, limits };
}

const unlimited = { requestsPerMinute: null, tokensPerDay: null };

async function limitsOf(token: Token, { limiter }: EndpointPeers): Promise<UsageReport['limits']> {
  const askedAtMs = epochMs();
  const status = await limiter.peek(limiterTerms(token));
  const call = { askedAtMs, answeredAtMs: epochMs() };
  return { requestsPerMinute: limitObject(status?.requests, call), tokensPerDay: limitObject(status?.tokens, call) };
}

/** @see spec "Usage object" */
function periodObject(period: UsagePeriod | undefined) {
  return {
    since: period === undefined ? null : new Date(period.sinceMs).toISOString(),
    ...totalsObject(period?.totals),
    byModel: (period?.byModel ?? []).map(({ provider, model, totals }) => ({
      provider,
      model,
      ...totalsObject(totals),
    })),
  };
}

function totalsObject(totals: UsageTotals | undefined) {
  const inputTokens = totals?.inputTokens ?? 0;
  const outputTokens = totals?.outputTokens ?? 0;
  return {
    requests: totals?.requests ?? 0,
    inputTokens,
    cachedTokens: totals?.cachedTokens ?? 0,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
  };
}

function limitObject(limit: LimitStatus['requests'] | LimitStatus['tokens'], call: CallTimes): LimitObject | null {
  if (limit === undefined) return null;
  const resetsAt = new Date(shownInstant(limit.resetsAfterMs, limit.resetsAtMs, call)).toISOString();
  return { limit: limit.limit, remaining: limit.remaining, resetsAt };
}
