import type { ErrorMeaning } from '@gateway/adapter-kit';
import { asNumber, asObject, asString, type JsonObject } from '@gateway/json';

/** An error object of the provider, of an error body or of an event. Its text is not read: it must reach nobody. */
export interface ProviderError {
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
export function meaningOf(error: ProviderError): ErrorMeaning | undefined {
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

/** A whole moment that is yet to come: one that has passed tells nothing. */
export function toFutureMs(epochMs: number, nowMs: number): number | undefined {
  return Number.isFinite(epochMs) && epochMs > nowMs && epochMs <= latestDateMs ? Math.ceil(epochMs) : undefined;
}

/** The last moment a Date can hold. */
const latestDateMs = 8.64e15;
