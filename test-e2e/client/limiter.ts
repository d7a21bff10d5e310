import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { openChannel } from '@gateway/rpc/grpc';
import { roomMs } from '@gateway/testkit/room';

/** The state of the limiter's counter of a token's day. */
export interface DayCounter {
  readonly localDay: string;
  readonly usedTokens: number;
}

/** The limiter's result of comparing a counter with the ledger. */
export interface ReconciledCounter {
  readonly usedTokensBefore: number | undefined;
  readonly usedTokensAfter: number;
  /** The part of `usedTokensAfter` that the ledger does not have yet. */
  readonly pendingTokens: number;
}

/** Reads a token's day counter at one limiter, and changes nothing. */
export async function dayCounterOf(limiterUrl: string, tokenId: string, tokensPerDay: number): Promise<DayCounter> {
  using limiter = openChannel(limiterUrl);
  const request = { key: `token:${tokenId}`, limits: { tokensPerDay } };
  const { status } = await limiter.client(LimiterService).peek(request, { timeoutMs: roomMs(10_000) });
  if (status?.tokens === undefined) throw new Error('Peek answered without a status');
  return { localDay: status.localDay, usedTokens: tokensPerDay - Number(status.tokens.remaining) };
}

/** Makes the limiter compare a token's day counter with the ledger, and correct it. */
export async function reconcileDayCounter(
  limiterUrl: string,
  tokenId: string,
  localDay: string,
): Promise<ReconciledCounter> {
  using limiter = openChannel(limiterUrl);
  const request = { key: `token:${tokenId}`, localDay };
  const found = await limiter.client(LimiterOperatorService).reconcileDay(request, { timeoutMs: roomMs(10_000) });
  return {
    usedTokensBefore: found.usedTokensBefore === undefined ? undefined : Number(found.usedTokensBefore),
    usedTokensAfter: Number(found.usedTokensAfter),
    pendingTokens: Number(found.pendingTokens),
  };
}
