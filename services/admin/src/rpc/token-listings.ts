import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TokenListingSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Group, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus, Limits } from '@gateway/proto/limiter/v2/limit_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays, epochMs, type LocalDay, localDayOf } from '@gateway/time';
import { isLimited, requestsAtATimeOfBudget } from '@gateway/tokens';
import type { AdminParts, AdminPeers } from '../parts.ts';
import { askForEach, pagesOf, peerCall } from '../peer-calls.ts';

type Listing = MessageInitShape<typeof TokenListingSchema>;

/**
 * Tokens with the state of their limits and their recent usage. Values that can't be read now are
 * left out.
 */
export async function tokenListings(
  { peers, logger }: AdminParts,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<Listing[]> {
  const days = shownDaysUntil(epochMs());
  const faults: unknown[] = [];
  const orElse =
    <T>(instead: T) =>
    (fault: unknown) => {
      signal.throwIfAborted();
      faults.push(fault);
      return instead;
    };
  const groups = await groupsOf(peers, tokens, signal).catch(orElse(new Map<string, Group>()));
  const listings: Listing[] = [];
  await askForEach(tokens.entries(), async ([index, token]) => {
    const [limits, tokensByDay] = await Promise.all([
      limitsOf(peers, token, signal, groups.get(token.groupId)).catch(orElse(undefined)),
      tokensOn(days, peers, { tokenId: token.tokenId }, signal).catch(orElse([])),
    ]);
    listings[index] = { token, limits, tokensByDay, groupName: groups.get(token.groupId)?.name ?? '' };
  });
  if (faults.length > 0) {
    logger.warn({ err: faults[0], count: faults.length }, 'tokens are listed without some of their details');
  }
  return listings;
}

/**
 * The tokens that have reached one of their own limits. @throws RpcError if the limiter is
 * unreachable.
 */
export async function tokensAtLimit({ peers }: AdminParts, tokens: readonly Token[], signal: AbortSignal) {
  const isAtLimit = new Set<string>();
  await askForEach(tokens, async (token) => {
    const { requests, tokens: day, concurrency } = (await limitsOf(peers, token, signal)) ?? {};
    const isFull = concurrency !== undefined && concurrency.running >= concurrency.limit;
    if (requests?.remaining === 0 || day?.remaining === 0 || isFull) isAtLimit.add(token.tokenId);
  });
  return tokens.filter(({ tokenId }) => isAtLimit.has(tokenId));
}

const shownDays = 14;

/** The groups of these tokens by their ids. Reads none if no token has one. */
export async function groupsOf(
  { groups }: Pick<AdminPeers, 'groups'>,
  tokens: readonly Pick<Token, 'groupId'>[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Group>> {
  if (tokens.every(({ groupId }) => groupId === '')) return new Map();
  const known = await groups.listGroups({}, peerCall(signal));
  return new Map(known.groups.map((group) => [group.groupId, group]));
}

/**
 * The state of a token's limits, which the limiter keeps with those of its group. The limiter does
 * not know tokens without limits.
 */
export async function limitsOf(
  { limiter }: AdminPeers,
  { tokenId, limits }: Token,
  signal: AbortSignal,
  group?: Group,
): Promise<LimitStatus | undefined> {
  if (limits === undefined || !isLimited(limits)) return undefined;
  const ofGroup = group && { group: limitedGroup(group) };
  return (await limiter.peek({ key: `token:${tokenId}`, limits, ...ofGroup }, peerCall(signal))).status;
}

/** A group as the limiter knows it. */
export function limitedGroup({ groupId, limits }: Group) {
  return { key: `group:${groupId}`, ...(limits && { limits: appliedLimits(limits) }) };
}

/** With what holds where the limits of a group say nothing. */
export function appliedLimits(limits: Limits): Limits {
  if (limits.budget === undefined) return limits;
  return { ...limits, concurrentRequests: limits.concurrentRequests ?? requestsAtATimeOfBudget };
}

/** The last 14 local days, today last. */
export function shownDaysUntil(nowMs: number): readonly LocalDay[] {
  const today = localDayOf(nowMs);
  return Array.from({ length: shownDays }, (_, index) => addLocalDays(today, index + 1 - shownDays));
}

/** The tokens that a token or a group used on each of these days. */
export async function tokensOn(
  days: readonly LocalDay[],
  { usageReport }: AdminPeers,
  of: { readonly tokenId: string } | { readonly groupId: string },
  signal: AbortSignal,
): Promise<number[]> {
  const period = { firstDay: days.at(0) ?? '', lastDay: days.at(-1) ?? '', ...of, grouping: UsageGrouping.DAY };
  const used = new Map<string, number>();
  const pages = pagesOf((pageToken) => usageReport.reportUsage({ ...period, pageToken }, peerCall(signal)));
  for await (const { rows } of pages) {
    for (const { localDay, totals } of rows) {
      used.set(localDay, (totals?.inputTokens ?? 0) + (totals?.outputTokens ?? 0));
    }
  }
  return days.map((day) => used.get(day) ?? 0);
}
