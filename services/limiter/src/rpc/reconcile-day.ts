import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ReconcileDayRequest, ReconcileDayResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { readKey, readLocalDay } from '../messages/read-check.ts';

/** Compares a day's counter with the ledger and puts it right. */
export async function reconcileDay(
  limiter: Limiter,
  request: ReconcileDayRequest,
): Promise<MessageInitShape<typeof ReconcileDayResponseSchema>> {
  const { usedTokensBefore, usedTokensAfter, pendingTokens } = await limiter.reconcile(
    readKey(request.key),
    readLocalDay(request.localDay),
  );
  return {
    ...(usedTokensBefore === undefined ? {} : { usedTokensBefore: BigInt(usedTokensBefore) }),
    usedTokensAfter: BigInt(usedTokensAfter),
    pendingTokens: BigInt(pendingTokens),
  };
}
