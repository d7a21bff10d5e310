import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TokenListingSchema } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import type { CallOptions } from '@gateway/rpc';
import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import { type AdminParts, peerTimeoutMs } from '../parts.ts';

type Listing = MessageInitShape<typeof TokenListingSchema>;

/** Tokens with what their limits stand at and what they used lately. What can't be asked now is left out. */
export async function tokenListings(
  { peers, clock, logger }: AdminParts,
  tokens: readonly Token[],
  signal: AbortSignal,
): Promise<Listing[]> {
  const today = localDayOf(clock.nowMs());
  const days = Array.from({ length: shownDays }, (_, index) => addLocalDays(today, index + 1 - shownDays));
  const options = { timeoutMs: peerTimeoutMs, signal };
  const faults: unknown[] = [];
  const orElse =
    <T>(instead: T) =>
    (fault: unknown) => {
      signal.throwIfAborted();
      faults.push(fault);
      return instead;
    };
  const listings: Listing[] = [];
  const left = tokens.entries();
  const listNext = async () => {
    for (const [index, token] of left) {
      const [limits, tokensByDay] = await Promise.all([
        limitsOf(peers, token, options).catch(orElse(undefined)),
        tokensOn(days, peers, token, options).catch(orElse([])),
      ]);
      listings[index] = { token, limits, tokensByDay };
    }
  };
  await Promise.all(Array.from({ length: tokensAtATime }, listNext));
  if (faults.length > 0) {
    logger.warn({ err: faults[0], count: faults.length }, 'tokens are listed without all that is known of them');
  }
  return listings;
}

const shownDays = 14;
const tokensAtATime = 16;

async function limitsOf(
  { limiter }: AdminParts['peers'],
  { tokenId, limits }: Token,
  options: CallOptions,
): Promise<LimitStatus | undefined> {
  if (limits?.requestsPerMinute === undefined && limits?.tokensPerDay === undefined) return undefined;
  return (await limiter.peek({ key: `token:${tokenId}`, limits }, options)).status;
}

async function tokensOn(
  days: readonly LocalDay[],
  { usageReport }: AdminParts['peers'],
  { tokenId }: Token,
  options: CallOptions,
): Promise<bigint[]> {
  const period = { firstDay: days.at(0), lastDay: days.at(-1), tokenId, grouping: UsageGrouping.DAY };
  const used = new Map<string, bigint>();
  let pageToken = '';
  do {
    const { rows, nextPageToken } = await usageReport.reportUsage({ ...period, pageToken }, options);
    for (const { localDay, totals } of rows) {
      used.set(localDay, (totals?.inputTokens ?? 0n) + (totals?.outputTokens ?? 0n));
    }
    pageToken = nextPageToken;
  } while (pageToken !== '');
  return days.map((day) => used.get(day) ?? 0n);
}
