import type { MessageInitShape } from '@bufbuild/protobuf';
import type { AdmitRequest, AdmitResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { buildRefusal, buildStatus } from '../messages/build-status.ts';
import { readCostKind, readKey, readLimits, readRequestId } from '../messages/read-check.ts';

/** Decides both limits of one request. */
export async function admit(
  limiter: Limiter,
  request: AdmitRequest,
): Promise<MessageInitShape<typeof AdmitResponseSchema>> {
  const decision = await limiter.admit({
    key: readKey(request.key),
    requestId: readRequestId(request.requestId),
    limits: readLimits(request.limits),
    costKind: readCostKind(request.costKind),
  });
  const status = buildStatus(decision.status);
  return decision.kind === 'refused' ? { status, refusal: buildRefusal(decision.refusal) } : { status };
}
