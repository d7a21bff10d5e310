import type { AdmitRequest, AdmitResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { buildDecision } from '../messages/build-decision.ts';
import { readCheck } from '../messages/read-check.ts';

/** Decides both limits of one request; at once when the limiter does. */
export function admit(limiter: Limiter, request: AdmitRequest): Promise<AdmitResponse> | AdmitResponse {
  const decision = limiter.admit(readCheck(request));
  return decision instanceof Promise ? decision.then(buildDecision) : buildDecision(decision);
}
