import {
  type AttemptFailure,
  accountTexts,
  type ErrorMeaning,
  meaningOfStatus,
  meaningOfText,
  type StatusRule,
  type StatusRules,
  type TextMeaning,
  toAttemptFailure,
  type UpstreamErrorAnswer,
} from '@gateway/adapter-kit';
import { asObject, asString, parseJson } from '@gateway/json';
import { meaningOfCode, relayedErrorCodes } from './error-codes.ts';
import { readCapability } from './read-capability.ts';
import { readRateLimit } from './read-quotas.ts';

/**
 * The meaning of an answer with an error status: that of the error's code or, if it has none that
 * is known, that of the status, unless the error's type or text is more specific.
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): AttemptFailure {
  const error = readProviderError(parseJson(new TextDecoder().decode(answer.body)));
  const meaning = error.meaning ?? meaningOfStatus(answer, statusRules, meaningOf(error, 'rejected'));
  const limit = readRateLimit(answer);
  return toAttemptFailure({
    meaning: meaning === 'limited' && limit.modelScoped ? 'model_limited' : meaning,
    capability: meaning === 'rejected' ? readCapability(error.text) : undefined,
    upstreamStatus: answer.status,
    upstreamCode: error.passedCode,
    names: error,
    retryAtMs: limit.retryAtMs,
    isLimitOfAccount: limit.isReached,
  });
}

/**
 * The meaning of an `error` event inside a stream. An unknown or missing type is the provider's
 * fault.
 */
export function mapStreamError(event: unknown): AttemptFailure {
  const error = readProviderError(event);
  const meaning = error.meaning ?? meaningOf(error) ?? 'server_error';
  const { passedCode: upstreamCode } = error;
  return toAttemptFailure({ meaning, upstreamStatus: 0, upstreamCode, names: error, retryAtMs: undefined });
}

/** What a person must solve, whatever the status. */
const ofAccount = ['refused_account', 'no_credit', 'revoked_credential', 'disabled_account'] as const;

/** What only some accounts have. */
const features = ['lacks_long_context', 'unavailable_choice'] as const;

/**
 * Accounts that lack credit, a plan or a feature, are disabled, or exceed their spend limit are
 * also refused with 400.
 */
const rejectedRule: StatusRule = [
  'rejected',
  'too_large',
  'context_too_long',
  'output_too_long',
  'unknown_model',
  'refused',
  ...features,
  ...ofAccount,
];

/**
 * The meaning of each error status. A test keeps docs/reference/provider-errors.md in step with it.
 */
export const statusRules: StatusRules = {
  byStatus: new Map<number, StatusRule>([
    [400, rejectedRule],
    [401, ofAccount],
    // Whether it is the account that is refused, or what the request chose, often only a code says.
    [402, ['refused', ...ofAccount]],
    [403, ['refused', ...features, ...ofAccount]],
    // Something that the request refers to may no longer exist: a thread or a file.
    [404, ['rejected', 'unknown_model', 'network']],
    // A proxy on the way requires authentication.
    [407, ['network']],
    [408, ['timeout']],
    [409, ['conflict']],
    [410, ['unknown_model']],
    [413, ['too_large', 'context_too_long']],
    [422, rejectedRule],
    [429, ['limited', 'model_limited', 'overloaded', ...features]],
    [529, ['overloaded']],
  ]),
  otherClientError: rejectedRule,
  otherServerError: ['server_error', 'overloaded'],
};

/**
 * An error object of the provider, in an error body or an event. Its text does not leave this file.
 */
interface ProviderError {
  readonly type: string | undefined;
  readonly text: string;
  readonly code: string | undefined;
  /** That of its code; undefined for an unknown code and for none. */
  readonly meaning: ErrorMeaning | undefined;
  /** A code that client libraries act on. Undefined for any other. */
  readonly passedCode: string | undefined;
}

/**
 * The error in a JSON value: `{type: "error", error: {type, message}}`. A value without one gives
 * an error without a type.
 */
function readProviderError(value: unknown): ProviderError {
  const error = asObject(asObject(value)?.error) ?? {};
  const code = asString(asObject(error.details)?.error_code);
  return {
    type: asString(error.type),
    text: asString(error.message) ?? '',
    code,
    meaning: code === undefined ? undefined : meaningOfCode(code),
    passedCode: code !== undefined && relayedErrorCodes.has(code) ? code : undefined,
  };
}

/**
 * The meaning of an error by its type, or else by its text; undefined when the value contained no
 * error.
 * @param untyped the meaning of an error with an unknown type
 */
function meaningOf({ type, text }: ProviderError, untyped?: ErrorMeaning): ErrorMeaning | undefined {
  const isError = type !== undefined || text !== '';
  const typed = meanings.get(type ?? '') ?? (isError ? untyped : undefined);
  return meaningOfText(typed, text, textMeanings);
}

/** The meaning of each type. @see https://platform.claude.com/docs/en/api/errors */
export const meanings: ReadonlyMap<string, ErrorMeaning> = new Map([
  ['invalid_request_error', 'rejected'],
  ['request_too_large', 'too_large'],
  ['authentication_error', 'refused_account'],
  ['permission_error', 'refused'],
  // The account's own billing, or that of an organization that the request names.
  ['billing_error', 'refused'],
  // It may also concern a thread or file that the request names: the text shows which.
  ['not_found_error', 'unknown_model'],
  ['rate_limit_error', 'limited'],
  ['overloaded_error', 'overloaded'],
  ['timeout_error', 'timeout'],
  ['conflict_error', 'conflict'],
  ['api_error', 'server_error'],
]);

/** Errors that only their text distinguishes. */
export const textMeanings: readonly TextMeaning[] = [
  // An address without an API behind it.
  { of: ['unknown_model'], text: /^not found\.?$/i, means: 'network' },
  { of: ['rejected'], text: /^not found\.?$/i, means: 'network' },
  // A thread or a file that the request names.
  { of: ['unknown_model'], text: /^(?!model\b)/i, means: 'rejected' },
  { of: ['refused', 'refused_account'], text: /^oauth token has been revoked/i, means: 'revoked_credential' },
  { of: ['refused'], text: /^oauth (?:token|authentication)\b/i, means: 'refused_account' },
  {
    of: ['refused'],
    text: /^(?:payment required|there (?:is|was) an issue with your (?:billing|payment))/i,
    means: 'no_credit',
  },
  {
    of: ['rejected'],
    text: /^(?:(?:this|your) (?:organization|account) )?(?:requires )?identity verification/i,
    means: 'disabled_account',
  },
  { of: ['rejected'], text: /^prompt is too long/i, means: 'context_too_long' },
  // Agents compact a conversation that is too long, which does not help here.
  {
    of: ['rejected'],
    text: /^(?:input length and `?max_tokens`? exceed context limit|max_tokens: \d+ > \d+)/i,
    means: 'output_too_long',
  },
  {
    of: ['rejected'],
    text: /^(?:the long context beta is not |this authentication style is incompatible with the long context beta)/i,
    means: 'lacks_long_context',
  },
  {
    of: ['limited'],
    text: /^(?:extra usage|usage credits?) (?:is|are) required for long context/i,
    means: 'lacks_long_context',
  },
  {
    of: ['limited'],
    text: /^(?:extra usage|usage credits?) (?:is|are) required(?: (?:to use|for) (?:this model|claude)\b|[.,]|$)/i,
    means: 'model_limited',
  },
  // Fast mode, and what else the request may choose.
  { of: ['limited'], text: /^(?:extra usage|usage credits?) (?:is|are) required/i, means: 'unavailable_choice' },
  {
    of: ['limited'],
    text: /^this request would exceed (?:your )?(?:organization['’]s )?rate limit of [\d,]{1,20} (?:fast|priority)\b/i,
    means: 'unavailable_choice',
  },
  {
    of: ['rejected', 'refused', 'limited'],
    text: /^fast mode (?:is|was|has|requires)\b/i,
    means: 'unavailable_choice',
  },
  { of: ['rejected'], text: /^third-party apps now draw from your extra usage/i, means: 'refused_account' },
  ...accountTexts,
];
