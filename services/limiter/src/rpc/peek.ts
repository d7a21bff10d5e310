import type { PeekRequest, PeekResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { buildStatus } from '../messages/build-status.ts';
import { readKey, readLimits } from '../messages/read-check.ts';

/** Reads both limits and changes nothing. */
export async function peek(limiter: Limiter, request: PeekRequest): Promise<PeekResponse> {
  return {
    $typeName: 'gateway.limiter.v1.PeekResponse',
    status: buildStatus(await limiter.peek(readKey(request.key), readLimits(request.limits))),
  };
}
