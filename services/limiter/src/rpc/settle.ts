import type { SettleRequest, SettleResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { readAmount, readKey, readLocalDay, readRequestId } from '../messages/read-check.ts';

/** Adds a request's tokens to its day; at once when the limiter does. */
export function settle(limiter: Limiter, request: SettleRequest): Promise<SettleResponse> | SettleResponse {
  const usedTokens = limiter.settle({
    key: readKey(request.key),
    requestId: readRequestId(request.requestId),
    localDay: readLocalDay(request.localDay),
    tokens: readAmount('tokens', request.tokens),
  });
  return usedTokens instanceof Promise ? usedTokens.then(buildTotal) : buildTotal(usedTokens);
}

function buildTotal(usedTokens: number): SettleResponse {
  return { $typeName: 'gateway.limiter.v1.SettleResponse', usedTokens: BigInt(usedTokens) };
}
