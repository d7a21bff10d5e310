import {
  type ErrorMeaning,
  meaningOfStatus,
  type StatusRule,
  type StatusRules,
  toFutureMs,
  toUpstreamFailure,
  type UpstreamErrorAnswer,
  type UpstreamFailure,
} from '@gateway/adapter-kit';
import { asNumber, asObject, asString, type JsonObject, parseJson } from '@gateway/json';
import { type EventLimits, exhaustedWindowsResetMs, readRetryAt } from './read-limits.ts';

/**
 * What an answer with an error status means: the status says it, unless the error's code says better.
 * @see https://platform.openai.com/docs/guides/error-codes
 */
export function mapUpstreamError(answer: UpstreamErrorAnswer): UpstreamFailure {
  const error = readProviderError(parseJson(new TextDecoder().decode(answer.body)), answer.nowMs);
  const meaning = meaningOfStatus(answer, statusRules, meaningOf(error));
  // A subscription's window holds for the account, whatever the code says.
  const isOfAccount = meaning === 'model_limited' && exhaustedWindowsResetMs(answer) !== undefined;
  return toUpstreamFailure({
    meaning: isOfAccount ? 'limited' : meaning,
    upstreamStatus: answer.status,
    retryAtMs: readRetryAt(answer, error.resetsAtMs),
  });
}

/**
 * What an error inside a stream means, that is of `response.failed` or of an `error` event. A code that is not known,
 * or none, is the provider's fault.
 * @param holder has the error in it, flat or nested
 * @param limits from the rate-limit events of the same stream
 */
export function mapStreamError(holder: unknown, { nowMs, exhaustedUntilMs }: StreamLimits): UpstreamFailure {
  const error = readProviderError(holder, nowMs);
  const meaning = meaningOf(error) ?? 'server_error';
  return toUpstreamFailure({
    meaning: meaning === 'model_limited' && exhaustedUntilMs !== undefined ? 'limited' : meaning,
    upstreamStatus: 0,
    retryAtMs: error.resetsAtMs ?? exhaustedUntilMs,
  });
}

type StreamLimits = Pick<EventLimits, 'nowMs' | 'exhaustedUntilMs'>;

const outOfService: readonly ErrorMeaning[] = ['revoked_credential', 'disabled_account'];

const rejectionsByCode: readonly ErrorMeaning[] = [
  'context_too_long',
  'bad_image',
  'against_policy',
  'unreadable_reasoning',
  'unknown_model',
  'limited',
  'refused_account',
  ...outOfService,
];

const rejectedRule: StatusRule = ['rejected', ...rejectionsByCode];

const statusRules: StatusRules = {
  byStatus: new Map<number, StatusRule>([
    [400, rejectedRule],
    [401, ['refused_account', ...outOfService]],
    [402, ['refused_account', 'limited', ...outOfService]],
    [403, ['refused_account', 'network', 'limited', ...outOfService]],
    // Chat requests name nothing but the model: any other 404 is an address that is not the provider's API.
    [404, ['server_error', 'unknown_model']],
    [408, ['timeout']],
    [409, ['server_error']],
    [413, ['too_large', ...rejectionsByCode]],
    [422, rejectedRule],
    [429, ['limited', 'model_limited', 'refused_account', 'overloaded', ...outOfService]],
    [529, ['overloaded', 'limited', 'model_limited']],
  ]),
  otherServerError: ['server_error', 'overloaded', 'limited', 'model_limited'],
};

/** An error object of the provider, of an error body or of an event. Its text is not read: it goes no further. */
interface ProviderError {
  /** `code` and `type`, in this order, as far as they are there: which of them says more differs by backend. */
  readonly codes: readonly string[];
  /** Epoch milliseconds at which the limit ends; undefined when not given. */
  readonly resetsAtMs: number | undefined;
}

/**
 * The error in a JSON value: `{error: {…}}`, or the members themselves. A value that holds none gives an error without
 * codes.
 */
export function readProviderError(value: unknown, nowMs: number): ProviderError {
  const holder = asObject(value) ?? {};
  const error = asObject(holder.error) ?? holder;
  const codes = [asString(error.code), asString(error.type)].filter((code) => code !== undefined);
  return { codes, resetsAtMs: readReset(error, nowMs) };
}

/** The meaning of the first code that has one; undefined when none is known. */
function meaningOf(error: ProviderError): ErrorMeaning | undefined {
  for (const code of error.codes) {
    const meaning = meanings.get(code);
    if (meaning !== undefined) return meaning;
  }
  return undefined;
}

const codesByMeaning: Readonly<Record<ErrorMeaning, readonly string[]>> = {
  limited: ['usage_limit_reached', 'insufficient_quota', 'billing_hard_limit_reached'],
  // A limit of an API key is kept per model.
  model_limited: ['rate_limit_exceeded'],
  refused_account: ['usage_not_included', 'invalid_api_key', 'token_expired'],
  revoked_credential: ['token_invalidated', 'token_revoked'],
  disabled_account: ['account_deactivated', 'deactivated_workspace'],
  overloaded: ['server_is_overloaded', 'slow_down', 'overloaded_error'],
  server_error: ['server_error', 'vector_store_timeout'],
  // Where the request left from, not who sent it.
  network: ['unsupported_country_region_territory'],
  timeout: ['request_timeout'],
  rejected: ['invalid_prompt', 'data_residency_mismatch', 'invalid_request_error', 'unsupported_parameter'],
  too_large: ['request_too_large'],
  context_too_long: ['context_length_exceeded'],
  bad_image: [
    'invalid_image',
    'invalid_image_format',
    'invalid_base64_image',
    'invalid_image_url',
    'image_too_large',
    'image_too_small',
    'image_parse_error',
    'invalid_image_mode',
    'image_file_too_large',
    'unsupported_image_media_type',
    'empty_image_file',
    'failed_to_download_image',
    'image_file_not_found',
  ],
  against_policy: ['bio_policy', 'cyber_policy', 'misalignment_policy_violation', 'image_content_policy_violation'],
  unreadable_reasoning: ['invalid_encrypted_content'],
  unknown_model: ['model_not_found'],
};

const meanings: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries(codesByMeaning).flatMap(([meaning, codes]) =>
    // Object.entries widens the keys, which are ErrorMeanings by the table's type.
    codes.map((code) => [code, meaning as ErrorMeaning] as const),
  ),
);

function readReset(error: JsonObject, nowMs: number): number | undefined {
  const resetsAtSeconds = asNumber(error.resets_at);
  if (resetsAtSeconds !== undefined) return toFutureMs(resetsAtSeconds * 1_000, nowMs);
  const resetsInSeconds = asNumber(error.resets_in_seconds);
  return resetsInSeconds === undefined ? undefined : toFutureMs(nowMs + resetsInSeconds * 1_000, nowMs);
}
