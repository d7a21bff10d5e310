import { GatewayError } from '@gateway/errors';
import type { HeartbeatRequest } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../limiter.ts';
import { recordAll } from '../store/limit-store.ts';
import { readGroup, readKey, readReplicaId, readRequestId } from './messages.ts';

const maxAdmissions = 1_000;

/** Records that a replica of a caller lives, and what it admitted by itself. Answers its place, when that is known. */
export async function heartbeat({ store }: Limiter, { group, replicaId, admissions }: HeartbeatRequest) {
  if (admissions.length > maxAdmissions) {
    throw new GatewayError('invalid_request', `admissions must be ${maxAdmissions} at most.`);
  }
  const own = admissions.map(({ key, requestId, ageMs }) => ({
    key: readKey(key),
    requestId: readRequestId(requestId),
    ageMs,
  }));
  const names = [readGroup(group), readReplicaId(replicaId)] as const;
  await recordAll(store, own);
  return (await store.heartbeat(...names)) ?? {};
}
