import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TokenListingSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import type { AdminParts, AdminPeers } from '../parts.ts';
import { askForEach, pagesOf, peerCall } from '../peer-calls.ts';

type Listing = MessageInitShape<typeof TokenListingSchema>;

/**
 * Tokens with the state of their limits and their recent usage. Values that can't be read now are
 * left out.
 */
export async function tokenListings(
  { peers, clock, logger }: AdminParts,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<Listing[]> {
  const today = localDayOf(clock.nowMs());
  const days = Array.from({ length: shownDays }, (_, index) => addLocalDays(today, index + 1 - shownDays));
  const faults: unknown[] = [];
  const orElse =
    <T>(instead: T) =>
    (fault: unknown) => {
      signal.throwIfAborted();
      faults.push(fault);
      return instead;
    };
  const listings: Listing[] = [];
  await askForEach(tokens.entries(), async ([index, token]) => {
    const [limits, tokensByDay] = await Promise.all([
      limitsOf(peers, token, signal).catch(orElse(undefined)),
      tokensOn(days, peers, token, signal).catch(orElse([])),
    ]);
    listings[index] = { token, limits, tokensByDay };
  });
  if (faults.length > 0) {
    logger.warn({ err: faults[0], count: faults.length }, 'tokens are listed without some of their details');
  }
  return listings;
}

const shownDays = 14;

/** The state of a token's limits. The limiter does not know tokens without limits. */
export async function limitsOf(
  { limiter }: AdminPeers,
  { tokenId, limits }: Token,
  signal: AbortSignal,
): Promise<LimitStatus | undefined> {
  if (limits?.requestsPerMinute === undefined && limits?.tokensPerDay === undefined) return undefined;
  return (await limiter.peek({ key: `token:${tokenId}`, limits }, peerCall(signal))).status;
}

async function tokensOn(
  days: readonly LocalDay[],
  { usageReport }: AdminPeers,
  { tokenId }: Token,
  signal: AbortSignal,
): Promise<bigint[]> {
  const period = { firstDay: days.at(0) ?? '', lastDay: days.at(-1) ?? '', tokenId, grouping: UsageGrouping.DAY };
  const used = new Map<string, bigint>();
  const pages = pagesOf((pageToken) => usageReport.reportUsage({ ...period, pageToken }, peerCall(signal)));
  for await (const { rows } of pages) {
    for (const { localDay, totals } of rows) {
      used.set(localDay, (totals?.inputTokens ?? 0n) + (totals?.outputTokens ?? 0n));
    }
  }
  return days.map((day) => used.get(day) ?? 0n);
}
