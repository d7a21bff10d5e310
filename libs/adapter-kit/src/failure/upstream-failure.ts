import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { UpstreamErrorAnswer, UpstreamFailure } from '../provider-format.ts';

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
  const { meaning } = facts;
  const result = isRejection(meaning) ? AttemptResult.REJECTED : results[meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    meaning,
    retryAtMs,
    modelScoped: meaning === 'model_limited',
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

const results: Readonly<Record<Exclude<ErrorMeaning, Rejection>, AttemptResult>> = {
  limited: AttemptResult.RATE_LIMITED,
  model_limited: AttemptResult.RATE_LIMITED,
  refused_account: AttemptResult.UNAUTHORIZED,
  revoked_credential: AttemptResult.UNAUTHORIZED,
  disabled_account: AttemptResult.UNAUTHORIZED,
  overloaded: AttemptResult.OVERLOADED,
  server_error: AttemptResult.SERVER_ERROR,
  network: AttemptResult.NETWORK_ERROR,
  timeout: AttemptResult.TIMEOUT,
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

function toGatewayError({ meaning, upstreamStatus, upstreamCode, retryAtMs }: FailureFacts): GatewayError {
  const details = { upstreamStatus: upstreamStatus === 0 ? undefined : upstreamStatus, upstreamCode };
  if (meaning === 'unknown_model') return new GatewayError('model_not_found', rejectionTexts[meaning], details);
  if (isRejection(meaning)) {
    const status = upstreamStatus === 0 && meaning === 'too_large' ? 413 : upstreamStatus;
    const shown = rejectionStatuses.includes(status) ? status : 400;
    return new GatewayError('upstream_rejected', rejectionTexts[meaning], { ...details, upstreamStatus: shown });
  }
  if (results[meaning] === AttemptResult.RATE_LIMITED) {
    const text = 'Every account that could serve the request is rate limited.';
    return new GatewayError('pool_exhausted', text, { ...details, retryAtMs });
  }
  return new GatewayError('providers_unavailable', 'The provider could not answer the request.', details);
}

/** The statuses that a rejection has for clients; any other is a 400. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];

const rejectionTexts: Readonly<Record<Rejection, string>> = {
  rejected: 'The provider rejected the request.',
  too_large: 'The provider rejected the request: it is too large.',
  context_too_long: "The provider rejected the request: the conversation is longer than the model's context window.",
  bad_image: 'The provider rejected the request: it could not use an image of it.',
  against_policy: 'The provider rejected the request: it is against the policies of the provider.',
  unreadable_reasoning: 'The provider rejected the request: it could not read the encrypted reasoning in it.',
  unknown_model: 'The provider does not offer this model.',
};

function isRejection(meaning: ErrorMeaning): meaning is Rejection {
  return meaning in rejectionTexts;
}

/** What an error status of a provider means, then the meanings that a known code of the error may give it instead. */
export type StatusRule = readonly [meaning: ErrorMeaning, ...orByCode: ErrorMeaning[]];

/** The rules of one provider format. Other statuses below 500 are the request's fault, the rest are the provider's. */
export interface StatusRules {
  readonly byStatus: ReadonlyMap<number, StatusRule>;
  readonly otherServerError: StatusRule;
}

/** What an answer with an error status means. `coded` is the meaning of the error's code, if that is known. */
export function meaningOfStatus(
  answer: UpstreamErrorAnswer,
  rules: StatusRules,
  coded: ErrorMeaning | undefined,
): ErrorMeaning {
  if (answer.status < 400 || isForeignPage(answer)) return 'network';
  const otherRule: StatusRule = answer.status < 500 ? ['rejected'] : rules.otherServerError;
  const [meaning, ...orByCode] = rules.byStatus.get(answer.status) ?? otherRule;
  return coded !== undefined && orByCode.includes(coded) ? coded : meaning;
}

/** An HTML page with a client error comes from something between us and the provider; the account is not to blame. */
function isForeignPage({ status, headers, body }: UpstreamErrorAnswer): boolean {
  if (status >= 500 || statusesOfProxies.has(status)) return false;
  if (/\bhtml\b/i.test(headers['content-type'] ?? '')) return true;
  return new TextDecoder().decode(body).trimStart().startsWith('<');
}

/** A proxy before the provider means the same with them: it limits sizes, rates and times too. */
const statusesOfProxies: ReadonlySet<number> = new Set([408, 413, 429]);
