import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AdmitStreamRequest, AdmitStreamResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { answerInOrder } from '../messages/answer-in-order.ts';
import { admit } from './admit.ts';

/** How many batches of one stream are decided at once; the caller's further ones wait in the transport. */
const maxBatchesAtOnce = 64;

/**
 * Decides batches of checks, all at once, and answers them in order. When the service drains it answers the batches it
 * has read and ends the stream; the caller opens another one. A check that is not valid ends the stream with its error.
 */
export function admitStream(
  limiter: Limiter,
  requests: AsyncIterable<AdmitStreamRequest>,
  draining: AbortSignal,
): AsyncGenerator<MessageInitShape<typeof AdmitStreamResponseSchema>> {
  return answerInOrder({
    requests,
    answer: async ({ checks }) => ({ decisions: await Promise.all(checks.map((check) => admit(limiter, check))) }),
    maxAtOnce: maxBatchesAtOnce,
    stopping: draining,
  });
}
