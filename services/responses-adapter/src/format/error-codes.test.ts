import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { meanings } from './error-codes.ts';
import { mapUpstreamError } from './map-upstream-error.ts';

type ResponseCode = OpenAI.Responses.ResponseError['code'];
type TurnCode = OpenAI.Beta.SessionTurnError['code'];

/**
 * All codes that the provider's client library names: one that a new version adds must be entered.
 */
const known = {
  server_error: 'server_error',
  rate_limit_exceeded: 'model_limited',
  invalid_prompt: 'rejected',
  data_residency_mismatch: 'rejected',
  bio_policy: 'against_policy',
  misalignment_policy_violation: 'against_policy',
  vector_store_timeout: 'server_error',
  invalid_image: 'bad_image',
  invalid_image_format: 'bad_image',
  invalid_base64_image: 'bad_image',
  invalid_image_url: 'bad_image',
  image_too_large: 'bad_image',
  image_too_small: 'bad_image',
  image_parse_error: 'bad_image',
  image_content_policy_violation: 'against_policy',
  invalid_image_mode: 'bad_image',
  image_file_too_large: 'bad_image',
  unsupported_image_media_type: 'bad_image',
  empty_image_file: 'bad_image',
  failed_to_download_image: 'bad_image',
  image_file_not_found: 'bad_image',
  context_length_exceeded: 'context_too_long',
  usage_limit_exceeded: 'no_credit',
  project_spend_limit_exceeded: 'no_credit',
  organization_spend_limit_exceeded: 'no_credit',
  organization_usage_limit_exceeded: 'no_credit',
  billing_not_active: 'no_credit',
  credit_balance_exhausted: 'no_credit',
  flex_unavailable: 'unavailable_choice',
  server_overloaded: 'overloaded',
  cyber_policy: 'against_policy',
  request_timeout: 'timeout',
  // Of agents' sessions, which the gateway does not use.
  max_output_tokens: undefined,
  session_budget_exceeded: undefined,
  connection_failed: undefined,
  authentication_error: undefined,
  invalid_request: undefined,
  resource_not_found: undefined,
  sandbox_error: undefined,
  executor_version_incompatible: undefined,
  active_turn_not_steerable: undefined,
  internal_error: undefined,
} satisfies Record<ResponseCode | TurnCode, string | undefined>;

describe('the error codes of a Responses provider', () => {
  it.each(Object.entries(known))('include %s, which means %s', (code, meaning) => {
    expect(meanings.get(code)).toBe(meaning);
  });

  it.each([
    [429, { code: 'billing_not_active', type: 'billing_not_active' }, 'no_credit'],
    [429, { code: null, type: 'billing_not_active' }, 'no_credit'],
    [429, { code: 'project_spend_limit_exceeded', type: 'insufficient_quota' }, 'no_credit'],
    [429, { code: 'workspace_spend_limit_reached', type: 'rate_limit_error' }, 'no_credit'],
    [429, { code: 'flex_unavailable', type: 'rate_limit_error' }, 'unavailable_choice'],
    [429, { code: 'resource_unavailable' }, 'unavailable_choice'],
    [400, { message: 'Your organization must be verified to stream this model. Please go to: …' }, 'unknown_model'],
    [404, { message: 'Your organization must be verified to use the model `o3`.' }, 'unknown_model'],
    [403, { message: 'Your organization must be verified to use the model `o3`.' }, 'unknown_model'],
    [400, { message: 'Your organization must be verified to generate reasoning summaries.' }, 'unavailable_choice'],
    [402, { code: 'some_profile_is_not_billable' }, 'refused'],
    [403, { code: 'container_of_another_project' }, 'refused'],
  ])('decide whom an error with %i concerns: %j', (status, error, meaning) => {
    const isCoded = 'code' in error && error.code !== null;
    const whole = {
      type: 'invalid_request_error',
      param: 'stream',
      ...(isCoded ? {} : { code: 'unsupported_value' }),
      ...error,
    };
    const body = Buffer.from(JSON.stringify({ error: whole }));
    expect(mapUpstreamError({ status, headers: {}, body, nowMs: 0 }).meaning).toBe(meaning);
  });
});
