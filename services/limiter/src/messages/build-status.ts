import type { Timestamp } from '@bufbuild/protobuf/wkt';
import type {
  LimitStatus as LimitStatusMessage,
  RequestWindow as RequestWindowMessage,
  TokenBudget as TokenBudgetMessage,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import type { LimitStatus, RequestWindow, TokenBudget } from '../windows/limit-status.ts';

// Whole messages, named as such: a call has eight of them, and completing each from its fields costs more than to decide.

export function buildStatus(status: LimitStatus): LimitStatusMessage {
  return {
    $typeName: 'gateway.limiter.v1.LimitStatus',
    requests: status.requests && buildWindow(status.requests),
    tokens: status.tokens && buildBudget(status.tokens),
    localDay: status.localDay,
    degraded: status.degraded,
  };
}

export function buildTimestamp(epochMs: number): Timestamp {
  const seconds = Math.floor(epochMs / 1_000);
  return {
    $typeName: 'google.protobuf.Timestamp',
    seconds: BigInt(seconds),
    nanos: (epochMs - seconds * 1_000) * 1_000_000,
  };
}

function buildWindow({ limit, remaining, emptyAtMs, nextSlotAtMs, resetsAtMs }: RequestWindow): RequestWindowMessage {
  return {
    $typeName: 'gateway.limiter.v1.RequestWindow',
    limit,
    remaining,
    emptyAt: buildTimestamp(emptyAtMs),
    nextSlotAt: nextSlotAtMs === undefined ? undefined : buildTimestamp(nextSlotAtMs),
    resetsAt: buildTimestamp(resetsAtMs),
  };
}

function buildBudget({ limit, remaining, resetsAtMs }: TokenBudget): TokenBudgetMessage {
  return {
    $typeName: 'gateway.limiter.v1.TokenBudget',
    limit: BigInt(limit),
    remaining: BigInt(remaining),
    resetsAt: midnightAt(resetsAtMs),
  };
}

// All that is asked in a day has the same midnight, and whoever is given a message does not change it.
let latestMidnight = { epochMs: 0, timestamp: buildTimestamp(0) };

function midnightAt(epochMs: number): Timestamp {
  if (epochMs !== latestMidnight.epochMs) latestMidnight = { epochMs, timestamp: buildTimestamp(epochMs) };
  return latestMidnight.timestamp;
}
