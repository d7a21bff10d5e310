import type { ErrorMeaning } from '@gateway/adapter-kit';
import { asObject, asString } from '@gateway/json';

/** An error object of the provider, of an error body or of an event. Its text must reach nobody. */
export interface ProviderError {
  readonly type: string | undefined;
  readonly text: string;
  /** A code on which client libraries act. Undefined for all that are not known here. */
  readonly code: string | undefined;
}

/** The error in a JSON value: `{type: "error", error: {type, message}}`. A value that holds none gives an error without type. */
export function readProviderError(value: unknown): ProviderError {
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
export function meaningOf({ type = '', text }: ProviderError): ErrorMeaning | undefined {
  const meaning = meanings.get(type);
  const told = textMeanings.find((entry) => entry.of === meaning && entry.text.test(text));
  return told?.means ?? meaning;
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

/** What only the text tells apart. */
const textMeanings: readonly TextMeaning[] = [
  {
    of: 'rejected',
    text: disabledText,
    means: 'disabled_account',
  },
  { of: 'refused_account', text: disabledText, means: 'disabled_account' },
  { of: 'refused_account', text: /^oauth token has been revoked/i, means: 'revoked_credential' },
  { of: 'rejected', text: /^your credit balance is too low/i, means: 'refused_account' },
  {
    of: 'rejected',
    text: /^you have reached your specified (?:\w+ )*usage limits/i,
    means: 'refused_account',
  },
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
