import type { PeekRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../limiter.ts';
import { decide } from './admit.ts';
import { buildStatus, readKey, readLimits } from './messages.ts';

/** Reads both limits and changes nothing. */
export async function peek(limiter: Limiter, { key, limits }: PeekRequest) {
  const check = {
    key: readKey(key),
    limits: readLimits(limits),
    requestId: undefined,
    costKind: 'request_only',
  } as const;
  const { status } = await decide(limiter, check);
  return { status: buildStatus(status) };
}
