import { GatewayError } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { mayBeShown } from '../attempts/attempt-errors.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';

/**
 * What a Messages client is told when no account answered: the gateway's own refusals as they are; a provider's error by
 * its status, with a generic text; a pool that gave no answer as unavailable. @see spec "Shapes"
 */
export function messagesError({ error, last }: AttemptsFailed): GatewayError {
  if (error.isFinal) return error;
  if (error.code === 'pool_exhausted' || last === undefined) return asSubscription(error);
  const { upstreamStatus: status, result } = last.outcome;
  // Something on the way forbade it, not the provider.
  const isForeign = result === AttemptResult.NETWORK_ERROR && status === 403;
  if (status < 400 || isForeign || !mayBeShown(last.outcome)) return asSubscription(error);
  return new GatewayError('upstream_rejected', 'The model provider returned an error.', {
    upstreamStatus: status,
    upstreamCode: last.error.upstreamCode,
    cause: last.error,
  });
}

function asSubscription(error: GatewayError): GatewayError {
  if (error.code !== 'providers_unavailable') return error;
  return new GatewayError('subscription_unavailable', error.message, { cause: error });
}
