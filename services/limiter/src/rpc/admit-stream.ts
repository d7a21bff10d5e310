import type {
  AdmitRequest,
  AdmitResponse,
  AdmitStreamRequest,
  AdmitStreamResponse,
} from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { answerInOrder } from '../messages/answer-in-order.ts';
import { buildDecision } from '../messages/build-decision.ts';
import { readCheck } from '../messages/read-check.ts';

/** How many batches of one stream are decided at once; the caller's further ones wait in the transport. */
const maxBatchesAtOnce = 64;
/** How many checks of one batch are: a batch may hold hundreds of thousands. */
const maxChecksAtOnce = 1_000;

/**
 * Decides batches of checks, all at once, and answers them in order. When the service drains it answers the batches it
 * has read and ends the stream; the caller opens another one. A check that is not valid ends the stream with its error.
 */
export function admitStream(
  limiter: Limiter,
  requests: AsyncIterable<AdmitStreamRequest>,
  draining: AbortSignal,
): AsyncGenerator<AdmitStreamResponse> {
  return answerInOrder({
    requests,
    answer: async ({ checks }) => ({
      $typeName: 'gateway.limiter.v1.AdmitStreamResponse',
      decisions: await decideAll(limiter, checks),
    }),
    maxAtOnce: maxBatchesAtOnce,
    stopping: draining,
  });
}

async function decideAll(limiter: Limiter, checks: readonly AdmitRequest[]): Promise<AdmitResponse[]> {
  const requests = checks.map(readCheck);
  const decisions: AdmitResponse[] = [];
  for (let start = 0; start < requests.length; start += maxChecksAtOnce) {
    const some = await limiter.admitAll(requests.slice(start, start + maxChecksAtOnce));
    for (const decision of some) decisions.push(buildDecision(decision));
  }
  return decisions;
}
