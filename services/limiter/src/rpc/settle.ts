import type { SettleRequest, SettleResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { readAmount, readKey, readLocalDay, readRequestId } from '../messages/read-check.ts';

/** Adds a request's tokens to its day. */
export async function settle(limiter: Limiter, request: SettleRequest): Promise<SettleResponse> {
  const usedTokens = await limiter.settle({
    key: readKey(request.key),
    requestId: readRequestId(request.requestId),
    localDay: readLocalDay(request.localDay),
    tokens: readAmount('tokens', request.tokens),
  });
  return { $typeName: 'gateway.limiter.v1.SettleResponse', usedTokens: BigInt(usedTokens) };
}
