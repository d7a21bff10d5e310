import { Secret } from '@gateway/config';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { AlertFormat } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { localDayOf } from '@gateway/time';
import type { AdminPeers } from '../parts.ts';
import { askForEach, pagesOf, peerCall } from '../peer-calls.ts';
import { limitedGroup } from '../rpc/token-listings.ts';
import type { LimitUse } from './causes.ts';
import type { Receiver } from './receiver.ts';

/** The receivers in the broker's gateway.yaml. */
export async function readReceivers(
  { poolOperator }: Pick<AdminPeers, 'poolOperator'>,
  signal: AbortSignal,
): Promise<readonly Receiver[]> {
  const { receivers } = await poolOperator.listAlertReceivers({}, peerCall(signal));
  return receivers.map(({ name, format, url, secret, kinds }) => ({
    ...{ name, url: new Secret(url), kinds: new Set(kinds) },
    format: format === AlertFormat.SLACK ? 'slack' : 'json',
    secret: secret === '' ? undefined : new Secret(secret),
  }));
}

/** What tokens used today, of those with tokens per day. One report serves them all. */
export async function readTokenUses(
  { identity, usageReport }: AdminPeers,
  nowMs: number,
  signal: AbortSignal,
): Promise<readonly LimitUse[]> {
  const today = localDayOf(nowMs);
  const limited: LimitUse[] = [];
  const listed = pagesOf((pageToken) => identity.list({ pageSize, pageToken }, peerCall(signal)));
  for await (const { tokens } of listed) {
    for (const { tokenId: subject, label: name, limits } of tokens) {
      const limit = limits?.tokensPerDay;
      if (limit === undefined) continue;
      limited.push({ ...ofDay, kind: 'tokens_per_day', subject, name, used: 0, limit, firstDay: today });
    }
  }
  if (limited.length === 0) return [];
  const report = { firstDay: today, lastDay: today, grouping: UsageGrouping.TOKEN };
  const used = new Map<string, number>();
  const pages = pagesOf((pageToken) => usageReport.reportUsage({ ...report, pageToken }, peerCall(signal)));
  for await (const { rows } of pages) {
    for (const { tokenId, totals } of rows) {
      used.set(tokenId, (totals?.inputTokens ?? 0) + (totals?.outputTokens ?? 0));
    }
  }
  return limited.map((use) => ({ ...use, used: used.get(use.subject) ?? 0 }));
}

/**
 * What groups used of their tokens per day and budgets, as the limiter counts it: personal tokens
 * included, which it never refuses.
 */
export async function readGroupUses(
  { groups, limiter, poolOperator }: AdminPeers,
  signal: AbortSignal,
): Promise<readonly LimitUse[]> {
  const known = await groups.listGroups({}, peerCall(signal));
  const limited = known.groups.filter(({ limits }) => limits?.tokensPerDay !== undefined || limits?.budget);
  if (limited.length === 0) return [];
  // A warning without its currency is better than none.
  const currency = await poolOperator.getGatewayFile({}, peerCall(signal)).then(
    ({ file }) => file?.currency ?? '',
    () => '',
  );
  const uses: LimitUse[] = [];
  await askForEach(limited, async (group) => {
    const { status } = await limiter.peek(limitedGroup(group), peerCall(signal));
    const { tokens, budget, localDay = '' } = status ?? {};
    const of = { subject: group.groupId, name: group.name };
    if (tokens !== undefined) {
      const { limit, remaining } = tokens;
      uses.push({ ...ofDay, ...of, kind: 'group_tokens_per_day', used: limit - remaining, limit, firstDay: localDay });
    }
    if (budget !== undefined) {
      const { spentMicros: used, amountMicros: limit, firstDay } = budget;
      const span = spans[group.limits?.budget?.period ?? BudgetPeriod.DAY];
      uses.push({ ...of, kind: 'budget', used, limit, currency, span, firstDay });
    }
  });
  return uses;
}

const pageSize = 1_000;
const ofDay = { currency: '', span: 'day' } as const;

const spans = {
  [BudgetPeriod.UNSPECIFIED]: 'day',
  [BudgetPeriod.DAY]: 'day',
  [BudgetPeriod.WEEK]: 'week',
  [BudgetPeriod.MONTH]: 'month',
} as const;
