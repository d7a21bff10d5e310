import { GatewayError } from '@gateway/errors';
import { CostKind as CostKindMessage, type Limits as LimitsMessage } from '@gateway/proto/limiter/v1/limit_pb.js';
import type { AdmitRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { LocalDay } from '@gateway/time';
import type { AdmissionRequest } from '../admission/limiter.ts';
import { isLocalDay } from '../windows/day-budget.ts';
import type { CostKind, Limits } from '../windows/limits.ts';

/** @throws GatewayError `invalid_request`, as every reader in this file does. */
export function readCheck({ key, requestId, limits, costKind }: AdmitRequest): AdmissionRequest {
  return {
    key: readKey(key),
    requestId: readRequestId(requestId),
    limits: readLimits(limits),
    costKind: readCostKind(costKind),
  };
}

export function readKey(key: string): string {
  return textOf('key', key, 200);
}

export function readRequestId(requestId: string): string {
  return textOf('request_id', requestId, 100);
}

export function readGroup(group: string): string {
  return textOf('group', group, 100);
}

export function readReplicaId(replicaId: string): string {
  return textOf('replica_id', replicaId, 100);
}

export function readLimits(limits: LimitsMessage | undefined): Limits {
  const tokensPerDay = limits?.tokensPerDay;
  return {
    requestsPerMinute: limits?.requestsPerMinute,
    tokensPerDay: tokensPerDay === undefined ? undefined : readAmount('limits.tokens_per_day', tokensPerDay),
  };
}

export function readCostKind(costKind: CostKindMessage): CostKind {
  switch (costKind) {
    case CostKindMessage.UNSPECIFIED:
    case CostKindMessage.REQUEST_AND_TOKENS:
      return 'request_and_tokens';
    case CostKindMessage.REQUEST_ONLY:
      return 'request_only';
    default:
      throw new GatewayError('invalid_request', `cost_kind ${costKind} is not known.`);
  }
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

function textOf(name: string, text: string, maxBytes: number): string {
  // A character has three bytes at most: only texts that may be too long are measured.
  if (text !== '' && (3 * text.length <= maxBytes || Buffer.byteLength(text) <= maxBytes)) return text;
  throw new GatewayError('invalid_request', `${name} must have 1 to ${maxBytes} bytes.`);
}
