import { GatewayError } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';

/**
 * What a Messages client is told when no account answered: the gateway's own refusals as they are; a provider's error by
 * its status, with a generic text; a pool that gave no answer as unreachable. @see spec "Shapes"
 */
export function messagesError({ error, last }: AttemptsFailed): GatewayError {
  if (error.isFinal) return error;
  if (error.code === 'pool_exhausted' || last === undefined) return asSubscription(error);
  const status = last.outcome.upstreamStatus ?? 0;
  // A refused credential is the pool's trouble: the client's own token is in order, and its status must not deny that.
  if (status < 400 || last.outcome.result === AttemptResult.UNAUTHORIZED) return unreachable(error);
  return new GatewayError('upstream_rejected', 'The model provider returned an error.', {
    upstreamStatus: status,
    upstreamCode: last.error.upstreamCode,
    cause: last.error,
  });
}

function asSubscription(error: GatewayError): GatewayError {
  return error.code === 'providers_unavailable' ? unreachable(error) : error;
}

function unreachable(cause: GatewayError): GatewayError {
  return new GatewayError('subscription_unavailable', 'The Messages pool is unreachable.', { cause });
}
