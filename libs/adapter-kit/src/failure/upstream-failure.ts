import { GatewayError, type GatewayErrorDetails } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { UpstreamFailure } from '../provider-format.ts';

/** What a provider's error means for the request, for the account and for who else could serve it. */
export type ErrorMeaning =
  | 'limited'
  | 'model_limited'
  | 'refused_account'
  /** Refused for good: the credential was revoked. */
  | 'revoked_credential'
  /** Refused for good: the account, its workspace or its organization is disabled. */
  | 'disabled_account'
  | 'overloaded'
  | 'server_error'
  | 'network'
  | 'timeout'
  | Rejection;

/** Why no account would take this request. */
export type Rejection =
  | 'rejected'
  | 'too_large'
  | 'context_too_long'
  | 'bad_image'
  | 'against_policy'
  | 'unreadable_reasoning'
  | 'unknown_model';

export interface FailureFacts {
  readonly meaning: ErrorMeaning;
  /** HTTP status; 0 when the failure came inside a stream. */
  readonly upstreamStatus: number;
  /** A code of the provider on which client libraries act; undefined for all others. */
  readonly upstreamCode?: string | undefined;
  /** Epoch milliseconds; undefined when the provider named no time. */
  readonly retryAtMs: number | undefined;
}

/** A failed attempt in the gateway's own words: the provider's text is never among them. */
export function toUpstreamFailure(facts: FailureFacts): UpstreamFailure {
  const result = results[facts.meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    meaning: facts.meaning,
    retryAtMs,
    modelScoped: facts.meaning === 'model_limited',
    problem: problemOf(facts),
    upstreamStatus: facts.upstreamStatus,
    error: toGatewayError({ ...facts, retryAtMs }),
  };
}

/** A stream that broke, ended early or can't be read. */
export function brokenStream(): UpstreamFailure {
  return toUpstreamFailure({ meaning: 'server_error', upstreamStatus: 0, retryAtMs: undefined });
}

/**
 * An answer that is larger than may be buffered. It is the gateway's bound and not the account's fault: any other account would
 * answer as much, and bill for it.
 */
export function answerTooLarge(): UpstreamFailure {
  return {
    result: AttemptResult.ANSWER_TOO_LARGE,
    retryAtMs: undefined,
    modelScoped: false,
    upstreamStatus: 0,
    error: new GatewayError('internal_error', answerTooLargeText),
  };
}

const answerTooLargeText =
  'The answer is larger than the gateway can hold at once, and was given up. Answers to requests with "stream": true have no such limit.';

const results: Readonly<Record<ErrorMeaning, AttemptResult>> = {
  limited: AttemptResult.RATE_LIMITED,
  model_limited: AttemptResult.RATE_LIMITED,
  refused_account: AttemptResult.UNAUTHORIZED,
  revoked_credential: AttemptResult.UNAUTHORIZED,
  disabled_account: AttemptResult.UNAUTHORIZED,
  overloaded: AttemptResult.OVERLOADED,
  server_error: AttemptResult.SERVER_ERROR,
  network: AttemptResult.NETWORK_ERROR,
  timeout: AttemptResult.TIMEOUT,
  rejected: AttemptResult.REJECTED,
  too_large: AttemptResult.REJECTED,
  context_too_long: AttemptResult.REJECTED,
  bad_image: AttemptResult.REJECTED,
  against_policy: AttemptResult.REJECTED,
  unreadable_reasoning: AttemptResult.REJECTED,
  unknown_model: AttemptResult.REJECTED,
};

/** A request that the provider had begun to answer proves that it knew the account: the next one will show. */
function problemOf({ meaning, upstreamStatus }: FailureFacts): AccountProblem {
  return upstreamStatus === 0 ? AccountProblem.UNSPECIFIED : (problems.get(meaning) ?? AccountProblem.UNSPECIFIED);
}

const problems: ReadonlyMap<ErrorMeaning, AccountProblem> = new Map<ErrorMeaning, AccountProblem>([
  ['revoked_credential', AccountProblem.CREDENTIAL_REVOKED],
  ['disabled_account', AccountProblem.ACCOUNT_DISABLED],
]);

/** Results that a provider's "come back at" belongs to. */
const waits: ReadonlySet<AttemptResult> = new Set([AttemptResult.RATE_LIMITED, AttemptResult.OVERLOADED]);

const rejectionTexts: Readonly<Record<Exclude<Rejection, 'unknown_model'>, string>> = {
  rejected: 'The provider rejected the request.',
  too_large: 'The provider rejected the request: it is too large.',
  context_too_long: "The provider rejected the request: the conversation is longer than the model's context window.",
  bad_image: 'The provider rejected the request: it could not use an image of it.',
  against_policy: 'The provider rejected the request: it is against the policies of the provider.',
  unreadable_reasoning: 'The provider rejected the request: it could not read the encrypted reasoning in it.',
};

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
    case 'revoked_credential':
    case 'disabled_account':
    case 'overloaded':
    case 'server_error':
    case 'network':
    case 'timeout':
      return new GatewayError('providers_unavailable', 'The provider could not answer the request.', details);
    case 'unknown_model':
      return new GatewayError('model_not_found', 'The provider does not offer this model.', details);
    default:
      return rejection(meaning, details);
  }
}

/** The statuses that a rejection has for clients; any other is a 400. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];

function rejection(meaning: Exclude<Rejection, 'unknown_model'>, details: GatewayErrorDetails): GatewayError {
  const { upstreamStatus = meaning === 'too_large' ? 413 : 400 } = details;
  const status = rejectionStatuses.includes(upstreamStatus) ? upstreamStatus : 400;
  return new GatewayError('upstream_rejected', rejectionTexts[meaning], { ...details, upstreamStatus: status });
}
