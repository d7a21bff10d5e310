import {
  type ErrorMeaning,
  meaningOfStatus,
  type StatusRule,
  type StatusRules,
  toUpstreamFailure,
  type UpstreamErrorAnswer,
  type UpstreamFailure,
} from '@gateway/adapter-kit';
import { asObject, asString, parseJson } from '@gateway/json';
import { readRateLimit } from './read-limits.ts';

/**
 * What an answer with an error status means: the status says it, unless the error's type says better.
 * @see https://platform.claude.com/docs/en/api/errors
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): UpstreamFailure {
  const error = readProviderError(parseJson(new TextDecoder().decode(answer.body)));
  const meaning = meaningOfStatus(answer, statusRules, meaningOf(error));
  const limit = readRateLimit(answer);
  return toUpstreamFailure({
    meaning: meaning === 'limited' && limit.modelScoped ? 'model_limited' : meaning,
    upstreamStatus: answer.status,
    upstreamCode: error.code,
    retryAtMs: limit.retryAtMs,
  });
}

/** What an `error` event inside a stream means. A type that is not known, or none, is the provider's fault. */
export function mapStreamError(event: unknown): UpstreamFailure {
  const error = readProviderError(event);
  const meaning = meaningOf(error) ?? 'server_error';
  return toUpstreamFailure({ meaning, upstreamStatus: 0, upstreamCode: error.code, retryAtMs: undefined });
}

const outOfService: readonly ErrorMeaning[] = ['revoked_credential', 'disabled_account'];

/** Accounts without credit, disabled or over their spend limit are refused with 400 too. */
const rejectedRule: StatusRule = ['rejected', 'context_too_long', 'refused_account', ...outOfService];

const statusRules: StatusRules = {
  byStatus: new Map<number, StatusRule>([
    [400, rejectedRule],
    [401, ['refused_account', ...outOfService]],
    [402, ['refused_account']],
    [403, ['refused_account', ...outOfService]],
    // A 404 of the provider names the model, or a thread or file of the request; any other is an address that is not its API.
    [404, ['server_error', 'unknown_model']],
    [408, ['timeout']],
    [409, ['server_error']],
    [413, ['too_large', 'context_too_long']],
    [422, rejectedRule],
    [429, ['limited', 'model_limited', 'overloaded']],
    [529, ['overloaded']],
  ]),
  otherServerError: ['server_error', 'overloaded'],
};

/** An error object of the provider, of an error body or of an event. Its text goes no further than this file. */
interface ProviderError {
  readonly type: string | undefined;
  readonly text: string;
  /** A code on which client libraries act. Undefined for all that are not known here. */
  readonly code: string | undefined;
}

/** The error in a JSON value: `{type: "error", error: {type, message}}`. A value that holds none gives an error without type. */
function readProviderError(value: unknown): ProviderError {
  const error = asObject(asObject(value)?.error) ?? {};
  const code = asString(asObject(error.details)?.error_code);
  return {
    type: asString(error.type),
    text: asString(error.message) ?? '',
    code: code !== undefined && passedCodes.has(code) ? code : undefined,
  };
}

/** The official client library makes its error classes from these, and recovers from some of them by itself. */
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

/** The meaning of an error's type; undefined when it is not known. */
function meaningOf({ type = '', text }: ProviderError): ErrorMeaning | undefined {
  const meaning = meanings.get(type);
  return textMeanings.find((entry) => entry.of === meaning && entry.text.test(text))?.means ?? meaning;
}

/** @see https://platform.claude.com/docs/en/api/errors */
const meanings: ReadonlyMap<string, ErrorMeaning> = new Map([
  ['invalid_request_error', 'rejected'],
  ['request_too_large', 'too_large'],
  ['authentication_error', 'refused_account'],
  ['permission_error', 'refused_account'],
  ['billing_error', 'refused_account'],
  ['not_found_error', 'unknown_model'],
  ['rate_limit_error', 'limited'],
  ['overloaded_error', 'overloaded'],
  ['timeout_error', 'timeout'],
  ['conflict_error', 'server_error'],
  ['api_error', 'server_error'],
]);

interface TextMeaning {
  readonly of: ErrorMeaning;
  /** Tied to the beginning: further on, a text may repeat words of the request. */
  readonly text: RegExp;
  readonly means: ErrorMeaning;
}

const disabledText = /^(?:this|your) (?:organization|account) has been (?:disabled|suspended)/i;

/** Errors that only differ in their text. */
const textMeanings: readonly TextMeaning[] = [
  { of: 'rejected', text: disabledText, means: 'disabled_account' },
  { of: 'refused_account', text: disabledText, means: 'disabled_account' },
  { of: 'refused_account', text: /^oauth token has been revoked/i, means: 'revoked_credential' },
  { of: 'rejected', text: /^your credit balance is too low/i, means: 'refused_account' },
  { of: 'rejected', text: /^you have reached your specified (?:\w+ )*usage limits/i, means: 'refused_account' },
  {
    of: 'rejected',
    text: /^(?:(?:this|your) (?:organization|account) )?(?:requires )?identity verification/i,
    means: 'disabled_account',
  },
  {
    of: 'rejected',
    text: /^(?:prompt is too long|input length and `?max_tokens`? exceed context limit)/i,
    means: 'context_too_long',
  },
  { of: 'limited', text: /^(?:extra usage|usage credits?) (?:is|are) required/i, means: 'model_limited' },
];
