import type { ErrorMeaning } from '@gateway/adapter-kit';

/**
 * The codes of each meaning: those that the official client library and the provider's guide name,
 * and those of subscription backends. A test compares them with the installed library, so that a
 * new code is noticed.
 */
const codesByMeaning: Readonly<Partial<Record<ErrorMeaning, string>>> = {
  limited: 'usage_limit_reached',
  // A limit of an API key applies per model.
  model_limited: 'rate_limit_exceeded',
  refused_account: 'usage_not_included invalid_api_key token_expired',
  no_credit: `insufficient_quota billing_hard_limit_reached billing_not_active credit_balance_exhausted
    organization_spend_limit_exceeded project_spend_limit_exceeded organization_usage_limit_exceeded
    usage_limit_exceeded`,
  unavailable_choice: 'flex_unavailable resource_unavailable',
  revoked_credential: 'token_invalidated token_revoked',
  disabled_account: 'account_deactivated deactivated_workspace',
  overloaded: 'server_is_overloaded server_overloaded slow_down overloaded_error',
  server_error: 'server_error vector_store_timeout',
  // Concerns where the request came from, not who sent it.
  network: 'unsupported_country_region_territory',
  timeout: 'request_timeout',
  rejected: 'invalid_prompt data_residency_mismatch invalid_request_error unsupported_parameter',
  too_large: 'request_too_large',
  context_too_long: 'context_length_exceeded',
  bad_image: `invalid_image invalid_image_format invalid_base64_image invalid_image_url image_too_large image_too_small
    image_parse_error invalid_image_mode image_file_too_large unsupported_image_media_type empty_image_file
    failed_to_download_image image_file_not_found`,
  against_policy: 'bio_policy cyber_policy misalignment_policy_violation image_content_policy_violation',
  unreadable_reasoning: 'invalid_encrypted_content',
  unknown_model: 'model_not_found model_not_supported DeploymentNotFound',
};

export const meanings: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries(codesByMeaning).flatMap(([meaning, codes]) =>
    // Object.entries widens the keys, which are ErrorMeanings by the table's type.
    codes.split(/\s+/).map((code) => [code, meaning as ErrorMeaning] as const),
  ),
);

/** New codes of spend limits keep to the pattern of the known ones. */
export function meaningOfCode(code: string): ErrorMeaning | undefined {
  return meanings.get(code) ?? (/_spend_limit_(?:reached|exceeded)$/.test(code) ? 'no_credit' : undefined);
}
