import type { MessageInitShape } from '@bufbuild/protobuf';
import { GatewayError } from '@gateway/errors';
import type { HeartbeatRequest, HeartbeatResponseSchema } from '@gateway/proto/limiter/v1/limiter_service_pb.js';
import type { Limiter } from '../admission/limiter.ts';
import { readGroup, readKey, readReplicaId, readRequestId } from '../messages/read-check.ts';

const maxAdmissions = 1_000;

/** Takes note that a replica of a caller lives, and of what it admitted by itself. */
export async function heartbeat(
  limiter: Limiter,
  { group, replicaId, admissions }: HeartbeatRequest,
): Promise<MessageInitShape<typeof HeartbeatResponseSchema>> {
  if (admissions.length > maxAdmissions) {
    throw new GatewayError('invalid_request', `admissions must be ${maxAdmissions} at most.`);
  }
  const own = admissions.map(({ key, requestId, ageMs }) => ({
    key: readKey(key),
    admission: { requestId: readRequestId(requestId), ageMs },
  }));
  const place = await limiter.heartbeat(readGroup(group), readReplicaId(replicaId), own);
  return place ?? {};
}
