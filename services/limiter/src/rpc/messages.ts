import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { GatewayError } from '@gateway/errors';
import {
  CostKind,
  LimitName,
  type LimitStatusSchema,
  type Limits as LimitsMessage,
} from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest, AdmitResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import { isLocalDay, type LocalDay } from '@gateway/time';
import type { Decision, LimitStatus, Limits, Question } from '../windows/decide.ts';

/** @throws GatewayError `invalid_request`, as every reader in this file does. */
export function readCheck({ key, requestId, limits, costKind }: AdmitRequest) {
  return {
    key: readKey(key),
    requestId: readRequestId(requestId),
    limits: readLimits(limits),
    costKind: readCostKind(costKind),
  };
}

export const readKey = (key: string) => readText('key', key, 200);
export const readRequestId = (requestId: string) => readText('request_id', requestId, 100);
export const readGroup = (group: string) => readText('group', group, 100);
export const readReplicaId = (replicaId: string) => readText('replica_id', replicaId, 100);

export function readLimits(limits: LimitsMessage | undefined): Limits {
  const { requestsPerMinute, tokensPerDay } = limits ?? {};
  return {
    requestsPerMinute,
    tokensPerDay: tokensPerDay === undefined ? undefined : readAmount('limits.tokens_per_day', tokensPerDay),
  };
}

export function readLocalDay(text: string): LocalDay {
  if (isLocalDay(text)) return text;
  throw new GatewayError('invalid_request', 'local_day must be a day like 2026-11-20.');
}

/** A number of tokens. */
export function readAmount(name: string, amount: bigint): number {
  // A number that is not exact is not safe either.
  const number = Number(amount);
  if (number >= 0 && Number.isSafeInteger(number)) return number;
  throw new GatewayError('invalid_request', `${name} must be from 0 to ${Number.MAX_SAFE_INTEGER}.`);
}

export function buildDecision(decision: Decision): MessageInitShape<typeof AdmitResponseSchema> {
  const status = buildStatus(decision.status);
  if (decision.kind === 'admitted') return { status };
  const { limit, retryAtMs } = decision.refusal;
  const names = { requests_per_minute: LimitName.REQUESTS_PER_MINUTE, tokens_per_day: LimitName.TOKENS_PER_DAY };
  return { status, refusal: { limit: names[limit], retryAt: timestampFromMs(retryAtMs) } };
}

export function buildStatus(status: LimitStatus): MessageInitShape<typeof LimitStatusSchema> {
  const { requests, tokens, localDay, degraded } = status;
  return {
    localDay,
    degraded,
    requests: requests && {
      limit: requests.limit,
      remaining: requests.remaining,
      emptyAt: timestampFromMs(requests.emptyAtMs),
      nextSlotAt: requests.nextSlotAtMs === undefined ? undefined : timestampFromMs(requests.nextSlotAtMs),
      resetsAt: timestampFromMs(requests.resetsAtMs),
    },
    tokens: tokens && {
      limit: BigInt(tokens.limit),
      remaining: BigInt(tokens.remaining),
      resetsAt: timestampFromMs(tokens.resetsAtMs),
    },
  };
}

function readCostKind(costKind: CostKind): Question['costKind'] {
  if (costKind === CostKind.REQUEST_ONLY) return 'request_only';
  if (costKind === CostKind.REQUEST_AND_TOKENS || costKind === CostKind.UNSPECIFIED) return 'request_and_tokens';
  throw new GatewayError('invalid_request', `cost_kind ${costKind} is not known.`);
}

function readText(name: string, text: string, maxBytes: number): string {
  if (text !== '' && Buffer.byteLength(text) <= maxBytes) return text;
  throw new GatewayError('invalid_request', `${name} must have 1 to ${maxBytes} bytes.`);
}
