import { GatewayError } from '@gateway/errors';
import type { SettleRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../limiter.ts';
import { dayState } from '../windows/decide.ts';
import { readAmount, readKey, readLocalDay, readRequestId } from './messages.ts';

/** Adds the tokens to their day and answers the day's total. */
export async function settle({ store, dayTotals, clock }: Limiter, request: SettleRequest) {
  const key = readKey(request.key);
  const requestId = readRequestId(request.requestId);
  const localDay = readLocalDay(request.localDay);
  const tokens = readAmount('tokens', request.tokens);
  const state = dayState(localDay, clock.nowMs());
  if (state === 'future') throw new GatewayError('invalid_request', 'local_day lies in the future.');
  // That day's budget limits nothing any more, and nothing is kept of it.
  if (state === 'over') return { usedTokens: request.tokens };
  const total = await store.settle({ key, requestId, localDay, tokens, hasLedger: dayTotals.covers(key) });
  dayTotals.noteUse(key, localDay);
  // Now rather than at the next admission, which would have to wait for it.
  const loaded = total.isLoaded ? undefined : await dayTotals.load(key, localDay);
  return { usedTokens: BigInt(loaded?.usedTokensAfter ?? total.usedTokens) };
}
