import type { LimitName } from '@gateway/errors';
import { LimitName as LimitNameMessage, type Refusal as RefusalMessage } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitResponse } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Refusal } from '../windows/decide.ts';
import type { Decision } from '../windows/limit-status.ts';
import { buildStatus, buildTimestamp } from './build-status.ts';

export function buildDecision(decision: Decision): AdmitResponse {
  return {
    $typeName: 'gateway.limiter.v1.AdmitResponse',
    status: buildStatus(decision.status),
    refusal: decision.kind === 'refused' ? buildRefusal(decision.refusal) : undefined,
  };
}

function buildRefusal({ limit, retryAtMs }: Refusal): RefusalMessage {
  return {
    $typeName: 'gateway.limiter.v1.Refusal',
    limit: limitNames[limit],
    retryAt: buildTimestamp(retryAtMs),
  };
}

const limitNames: Readonly<Record<LimitName, LimitNameMessage>> = {
  requests_per_minute: LimitNameMessage.REQUESTS_PER_MINUTE,
  tokens_per_day: LimitNameMessage.TOKENS_PER_DAY,
};
