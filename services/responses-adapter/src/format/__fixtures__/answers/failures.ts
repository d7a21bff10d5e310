import type { ExpectedFailure } from '@gateway/testkit/adapters';
import type { FailureCode } from './responses.ts';

export const limited: ExpectedFailure = { failed: 'RATE_LIMITED', code: 'pool_exhausted' };
/** A limit of an API key is one of this model. */
export const modelLimited: ExpectedFailure = { ...limited, modelScoped: true };
export const refusedAccount: ExpectedFailure = { failed: 'UNAUTHORIZED', code: 'providers_unavailable' };
export const overloaded: ExpectedFailure = { failed: 'OVERLOADED', code: 'providers_unavailable' };
export const serverError: ExpectedFailure = { failed: 'SERVER_ERROR', code: 'providers_unavailable' };
export const networkError: ExpectedFailure = { failed: 'NETWORK_ERROR', code: 'providers_unavailable' };
export const timedOut: ExpectedFailure = { failed: 'TIMEOUT', code: 'providers_unavailable' };
export const rejected: ExpectedFailure = { failed: 'REJECTED', code: 'upstream_rejected' };
export const unknownModel: ExpectedFailure = { failed: 'MODEL_UNAVAILABLE', code: 'model_not_found' };

/** What each code of the provider's SDK means. Complete by its type. */
export const failuresByCode: Readonly<Record<FailureCode, ExpectedFailure>> = {
  server_error: serverError,
  vector_store_timeout: serverError,
  rate_limit_exceeded: modelLimited,
  invalid_prompt: rejected,
  data_residency_mismatch: rejected,
  bio_policy: rejected,
  misalignment_policy_violation: rejected,
  invalid_image: rejected,
  invalid_image_format: rejected,
  invalid_base64_image: rejected,
  invalid_image_url: rejected,
  image_too_large: rejected,
  image_too_small: rejected,
  image_parse_error: rejected,
  image_content_policy_violation: rejected,
  invalid_image_mode: rejected,
  image_file_too_large: rejected,
  unsupported_image_media_type: rejected,
  empty_image_file: rejected,
  failed_to_download_image: rejected,
  image_file_not_found: rejected,
};

/** What codes mean that the SDK's type does not name. */
export const failuresByOtherCode: Readonly<Record<string, ExpectedFailure>> = {
  usage_limit_reached: limited,
  insufficient_quota: limited,
  billing_hard_limit_reached: limited,
  usage_not_included: refusedAccount,
  invalid_api_key: refusedAccount,
  token_expired: refusedAccount,
  account_deactivated: refusedAccount,
  server_is_overloaded: overloaded,
  slow_down: overloaded,
  unsupported_country_region_territory: networkError,
  request_timeout: timedOut,
  context_length_exceeded: rejected,
  request_too_large: rejected,
  cyber_policy: rejected,
  unsupported_parameter: rejected,
  invalid_encrypted_content: rejected,
  model_not_found: unknownModel,
  something_new: serverError,
};
