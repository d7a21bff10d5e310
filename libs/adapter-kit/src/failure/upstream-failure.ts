import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { UpstreamErrorAnswer, UpstreamFailure } from '../provider-format.ts';

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
  const { result, problem = AccountProblem.UNSPECIFIED } = consequences[meaning];
  const retryAtMs = waits.has(result) ? facts.retryAtMs : undefined;
  return {
    result,
    meaning,
    retryAtMs,
    modelScoped: meaning === 'model_limited',
    // A request that the provider had begun to answer proves that it knew the account: the next one will show.
    problem: facts.upstreamStatus === 0 ? AccountProblem.UNSPECIFIED : problem,
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

/** What follows from an error for the account, and, where no account would take the request, what its client gets. */
interface Consequence {
  readonly result: AttemptResult;
  /** Refused for good: why it is out of service until a person acts. */
  readonly problem?: AccountProblem;
  readonly rejection?: string;
}

const rejected = (reason: string): Consequence => ({
  result: AttemptResult.REJECTED,
  rejection: `The provider rejected the request${reason}.`,
});

const { UNAUTHORIZED } = AttemptResult;
const { CREDENTIAL_REVOKED, ACCOUNT_DISABLED } = AccountProblem;

const byMeaning = {
  limited: { result: AttemptResult.RATE_LIMITED },
  model_limited: { result: AttemptResult.RATE_LIMITED },
  refused_account: { result: UNAUTHORIZED },
  revoked_credential: { result: UNAUTHORIZED, problem: CREDENTIAL_REVOKED },
  /** The account, its workspace or its organization. */
  disabled_account: { result: UNAUTHORIZED, problem: ACCOUNT_DISABLED },
  overloaded: { result: AttemptResult.OVERLOADED },
  server_error: { result: AttemptResult.SERVER_ERROR },
  network: { result: AttemptResult.NETWORK_ERROR },
  timeout: { result: AttemptResult.TIMEOUT },
  rejected: rejected(''),
  too_large: rejected(': it is too large'),
  context_too_long: rejected(": the conversation is longer than the model's context window"),
  bad_image: rejected(': it could not use an image of it'),
  against_policy: rejected(': it is against the policies of the provider'),
  unreadable_reasoning: rejected(': it could not read the encrypted reasoning in it'),
  unknown_model: { result: AttemptResult.REJECTED, rejection: 'The provider does not offer this model.' },
} satisfies Record<string, Consequence>;

/** What a provider's error means for the request, for the account and for who else could serve it. */
export type ErrorMeaning = keyof typeof byMeaning;

const consequences: Readonly<Record<ErrorMeaning, Consequence>> = byMeaning;

/** Results that a provider's "come back at" belongs to. */
const waits: ReadonlySet<AttemptResult> = new Set([AttemptResult.RATE_LIMITED, AttemptResult.OVERLOADED]);

function toGatewayError({ meaning, upstreamStatus, upstreamCode, retryAtMs }: FailureFacts): GatewayError {
  const details = { upstreamStatus: upstreamStatus === 0 ? undefined : upstreamStatus, upstreamCode };
  const { result, rejection } = consequences[meaning];
  if (rejection !== undefined) {
    if (meaning === 'unknown_model') return new GatewayError('model_not_found', rejection, details);
    const status = upstreamStatus === 0 && meaning === 'too_large' ? 413 : upstreamStatus;
    const shown = rejectionStatuses.includes(status) ? status : 400;
    return new GatewayError('upstream_rejected', rejection, { ...details, upstreamStatus: shown });
  }
  if (result === AttemptResult.RATE_LIMITED) {
    const text = 'Every account that could serve the request is rate limited.';
    return new GatewayError('pool_exhausted', text, { ...details, retryAtMs });
  }
  return new GatewayError('providers_unavailable', 'The provider could not answer the request.', details);
}

/** The statuses that a rejection has for clients; any other is a 400. @see spec "Codes" */
const rejectionStatuses: readonly number[] = [400, 413, 422];

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
