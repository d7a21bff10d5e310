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
import { readCapability } from './read-capability.ts';
import { readRateLimit } from './read-quotas.ts';

/**
 * The meaning of an answer with an error status: that of the status, unless the error's type is
 * more specific.
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): AttemptFailure {
  const error = readProviderError(parseJson(new TextDecoder().decode(answer.body)));
  const meaning = meaningOfStatus(answer, statusRules, meaningOf(error, 'rejected'));
  const limit = readRateLimit(answer);
  return toAttemptFailure({
    meaning: meaning === 'limited' && limit.modelScoped ? 'model_limited' : meaning,
    capability: meaning === 'rejected' ? readCapability(error.text) : undefined,
    upstreamStatus: answer.status,
    upstreamCode: error.passedCode,
    names: error,
    retryAtMs: limit.retryAtMs,
  });
}

/**
 * The meaning of an `error` event inside a stream. An unknown or missing type is the provider's
 * fault.
 */
export function mapStreamError(event: unknown): AttemptFailure {
  const error = readProviderError(event);
  const meaning = meaningOf(error) ?? 'server_error';
  return toAttemptFailure({
    meaning,
    upstreamStatus: 0,
    upstreamCode: error.passedCode,
    names: error,
    retryAtMs: undefined,
  });
}

/** What a person must solve, whatever the status. */
const ofAccount: readonly ErrorMeaning[] = ['no_credit', 'revoked_credential', 'disabled_account'];

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
  'lacks_long_context',
  'refused_account',
  ...ofAccount,
];

/**
 * The meaning of each error status. A test keeps docs/reference/provider-errors.md in step with it.
 */
export const statusRules: StatusRules = {
  byStatus: new Map<number, StatusRule>([
    [400, rejectedRule],
    [401, ['refused_account', ...ofAccount]],
    [402, ['refused_account', 'no_credit']],
    [403, ['refused_account', 'lacks_long_context', ...ofAccount]],
    // Something that the request refers to may no longer exist: a thread or a file.
    [404, ['rejected', 'unknown_model', 'network']],
    // A proxy on the way requires authentication.
    [407, ['network']],
    [408, ['timeout']],
    [409, ['conflict']],
    [410, ['unknown_model']],
    [413, ['too_large', 'context_too_long']],
    [422, rejectedRule],
    [429, ['limited', 'model_limited', 'lacks_long_context', 'overloaded']],
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
    passedCode: code !== undefined && passedCodes.has(code) ? code : undefined,
  };
}

/**
 * The official client library derives its error classes from these, and recovers from some of them
 * by itself.
 */
const passedCodes: ReadonlySet<string> = new Set([
  'thread_already_continued',
  'thread_continue_in_flight',
  'thread_fingerprint_mismatch',
  'thread_not_found',
  'thread_unsupported_request',
  'tool_name_conflict',
  'tool_reference_unresolved',
  'compaction_block_ambiguous',
  'compaction_block_misplaced',
  'compaction_content_mismatch',
  'compaction_incomplete_turn',
  'compaction_nothing_to_summarize',
  'compaction_signature_invalid',
  'compaction_too_many_tool_references',
  'compaction_tool_changes_mismatch',
  'compaction_unavailable',
  'contract_spend_limit_reached',
  'enforced_spend_limit_reached',
  'ramp_limit_exceeded',
]);

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
  ['permission_error', 'refused_account'],
  ['billing_error', 'no_credit'],
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
  { of: 'unknown_model', text: /^not found\.?$/i, means: 'network' },
  { of: 'rejected', text: /^not found\.?$/i, means: 'network' },
  // A thread or a file that the request names.
  { of: 'unknown_model', text: /^(?!model\b)/i, means: 'rejected' },
  { of: 'refused_account', text: /^oauth token has been revoked/i, means: 'revoked_credential' },
  {
    of: 'rejected',
    text: /^(?:(?:this|your) (?:organization|account) )?(?:requires )?identity verification/i,
    means: 'disabled_account',
  },
  { of: 'rejected', text: /^prompt is too long/i, means: 'context_too_long' },
  // Agents compact a conversation that is too long, which does not help here.
  {
    of: 'rejected',
    text: /^(?:input length and `?max_tokens`? exceed context limit|max_tokens: \d+ > \d+)/i,
    means: 'output_too_long',
  },
  {
    of: 'rejected',
    text: /^(?:the long context beta is not |this authentication style is incompatible with the long context beta)/i,
    means: 'lacks_long_context',
  },
  {
    of: 'limited',
    text: /^(?:extra usage|usage credits?) (?:is|are) required for long context/i,
    means: 'lacks_long_context',
  },
  { of: 'limited', text: /^(?:extra usage|usage credits?) (?:is|are) required/i, means: 'model_limited' },
  { of: 'rejected', text: /^third-party apps now draw from your extra usage/i, means: 'refused_account' },
  ...accountTexts,
];
