import type { IncomingMessage } from 'node:http';
import { GatewayError } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { mayBeShown } from '../attempts/attempt-errors.ts';
import type { AttemptsFailed } from '../attempts/attempt-loop.ts';

/**
 * The version and beta headers of a Messages request: `partner-…` and `anthropic-…` are two spellings of the same. Of two
 * versions the partner's wins; betas are joined. No other header reaches the provider. @see spec "Versioning"
 */
export function messagesHeaders({ headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>): Record<string, string> {
  const inBothSpellings = (name: string) => [
    ...(headersDistinct[`partner-${name}`] ?? []),
    ...(headersDistinct[`anthropic-${name}`] ?? []),
  ];
  const version = inBothSpellings('version').find((value) => value !== '') ?? defaultVersion;
  const betas = inBothSpellings('beta').flatMap((list) => list.split(',').map((each) => each.trim()));
  // Each once, in the order in which they were named first.
  const beta = [...new Set(betas)].filter(Boolean).join(',');
  return { 'partner-version': version, ...(beta === '' ? {} : { 'partner-beta': beta }) };
}

const defaultVersion = '2023-06-01';

/**
 * What a Messages client gets when no account answered: the gateway's own refusals as they are; a provider's error by
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
