import type { AdmitRequest, AdmitResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { buildDecision } from '../messages/build-decision.ts';
import { readCheck } from '../messages/read-check.ts';

/** Decides both limits of one request. */
export async function admit(limiter: Limiter, request: AdmitRequest): Promise<AdmitResponse> {
  return buildDecision(await limiter.admit(readCheck(request)));
}
