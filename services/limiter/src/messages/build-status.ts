import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { LimitName } from '@gateway/errors';
import {
  LimitName as LimitNameMessage,
  type LimitStatusSchema,
  type RefusalSchema,
  type RequestWindowSchema,
  type TokenBudgetSchema,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import type { Refusal } from '../windows/decide.ts';
import type { LimitStatus, RequestWindow, TokenBudget } from '../windows/limit-status.ts';

export function buildStatus(status: LimitStatus): MessageInitShape<typeof LimitStatusSchema> {
  return {
    requests: status.requests && buildWindow(status.requests),
    tokens: status.tokens && buildBudget(status.tokens),
    localDay: status.localDay,
    degraded: status.degraded,
  };
}

export function buildRefusal({ limit, retryAtMs }: Refusal): MessageInitShape<typeof RefusalSchema> {
  return { limit: limitNames[limit], retryAt: retryAtMs === undefined ? undefined : timestampFromMs(retryAtMs) };
}

function buildWindow(window: RequestWindow): MessageInitShape<typeof RequestWindowSchema> {
  const { limit, remaining, emptyAtMs, nextSlotAtMs } = window;
  return {
    limit,
    remaining,
    emptyAt: timestampFromMs(emptyAtMs),
    nextSlotAt: nextSlotAtMs === undefined ? undefined : timestampFromMs(nextSlotAtMs),
  };
}

function buildBudget({ limit, remaining, resetsAtMs }: TokenBudget): MessageInitShape<typeof TokenBudgetSchema> {
  return { limit: BigInt(limit), remaining: BigInt(remaining), resetsAt: timestampFromMs(resetsAtMs) };
}

const limitNames: Readonly<Record<LimitName, LimitNameMessage>> = {
  requests_per_minute: LimitNameMessage.REQUESTS_PER_MINUTE,
  tokens_per_day: LimitNameMessage.TOKENS_PER_DAY,
};
