import type { UpstreamFailure } from '@gateway/adapter-kit';
import { GatewayError, type GatewayErrorDetails } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { ErrorMeaning } from './provider-error.ts';

export interface FailureFacts {
  readonly meaning: ErrorMeaning;
  /** HTTP status; 0 when the failure came inside a stream. */
  readonly upstreamStatus: number;
  /** See `ProviderError.code`. */
  readonly upstreamCode?: string | undefined;
  /** Epoch milliseconds; undefined when the provider named no moment. */
  readonly retryAtMs: number | undefined;
}

/** A failed attempt in the gateway's own words: the provider's text is never among them. */
export function toUpstreamFailure(facts: FailureFacts): UpstreamFailure {
  const result = results[facts.meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    retryAtMs,
    modelScoped: facts.meaning === 'model_limited',
    upstreamStatus: facts.upstreamStatus,
    error: toGatewayError({ ...facts, retryAtMs }),
  };
}

/** A stream that broke, ended early or can't be read. */
export function brokenStream(): UpstreamFailure {
  return toUpstreamFailure({ meaning: 'server_error', upstreamStatus: 0, retryAtMs: undefined });
}

const results: Readonly<Record<ErrorMeaning, AttemptResult>> = {
  limited: AttemptResult.RATE_LIMITED,
  model_limited: AttemptResult.RATE_LIMITED,
  refused_account: AttemptResult.UNAUTHORIZED,
  overloaded: AttemptResult.OVERLOADED,
  server_error: AttemptResult.SERVER_ERROR,
  network: AttemptResult.NETWORK_ERROR,
  timeout: AttemptResult.TIMEOUT,
  rejected: AttemptResult.REJECTED,
  too_large: AttemptResult.REJECTED,
  context_too_long: AttemptResult.REJECTED,
  unknown_model: AttemptResult.REJECTED,
};

/** Results that a provider's "come back at" belongs to. */
const waits: ReadonlySet<AttemptResult> = new Set([AttemptResult.RATE_LIMITED, AttemptResult.OVERLOADED]);

function toGatewayError({ meaning, upstreamStatus, upstreamCode, retryAtMs }: FailureFacts): GatewayError {
  const details = { upstreamStatus: upstreamStatus === 0 ? undefined : upstreamStatus, upstreamCode };
  switch (meaning) {
    case 'limited':
    case 'model_limited':
      return new GatewayError('pool_exhausted', 'Every account that could serve the request is rate limited.', {
        ...details,
        retryAtMs,
      });
    case 'refused_account':
    case 'overloaded':
    case 'server_error':
    case 'network':
    case 'timeout':
      return new GatewayError('providers_unavailable', 'The provider could not answer the request.', details);
    case 'unknown_model':
      return new GatewayError('model_not_found', 'The provider does not offer this model.', details);
    case 'rejected':
      return rejection('The provider rejected the request.', details);
    case 'too_large':
      return rejection('The provider rejected the request: it is too large.', details, 413);
    case 'context_too_long':
      return rejection(
        "The provider rejected the request: the conversation is longer than the model's context window.",
        details,
      );
  }
}

/** The statuses that a rejection has for clients. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];

function rejection(message: string, details: GatewayErrorDetails, otherwise = 400): GatewayError {
  const { upstreamStatus = otherwise } = details;
  const status = rejectionStatuses.includes(upstreamStatus) ? upstreamStatus : 400;
  return new GatewayError('upstream_rejected', message, { ...details, upstreamStatus: status });
}
