import type { ErrorMeaning } from './error-meanings.ts';

/**
 * The messages that clients receive for a provider's error: always the gateway's own words. Agents
 * search for some of them: "prompt is too long" makes them compact the conversation and continue.
 */
export const errorTexts: Readonly<Record<ErrorMeaning, string>> = {
  limited: 'The provider rate limited the request. Try again later.',
  model_limited: 'The provider rate limited requests for this model. Try again later.',
  refused_account: "The provider rejected the gateway's account.",
  no_credit: "The provider rejected the gateway's account.",
  revoked_credential: "The provider rejected the gateway's account.",
  disabled_account: "The provider rejected the gateway's account.",
  refused: 'The provider did not permit the request.',
  unavailable_choice: 'The provider cannot serve the tier or feature that the request asks for. Try again later.',
  overloaded: 'The provider is overloaded. Try again later.',
  server_error: 'The provider failed to answer the request.',
  network: 'The provider is unreachable.',
  timeout: 'The provider timed out.',
  rejected: 'The provider rejected the request.',
  output_too_long: 'The provider rejected the request: max_tokens is too large for the model or this input.',
  too_large: 'The provider rejected the request: it is too large.',
  context_too_long: "The prompt is too long: it is larger than the model's context window.",
  bad_image: 'The provider rejected the request: it could not process an image.',
  against_policy: "The provider rejected the request: it violates the provider's policies.",
  unreadable_reasoning: 'The provider rejected the request: it could not decrypt the encrypted reasoning.',
  conflict: 'The resource of the request is in use at the provider. Try again later.',
  unknown_model: 'The provider does not offer this model.',
  lacks_long_context: 'The provider does not offer its accounts the long context that the request asks for.',
};

/** The parts of a request that a model does not accept, by the names that Claude Code knows. */
const capabilities = {
  mid_conv_system: 'the model does not support system messages within the conversation',
  cache_control_field: 'the model does not support cache_control',
  thinking_signature: 'a thinking block was changed, or was not created by the provider',
  'thinking_type:enabled': 'the model does not support thinking of the type enabled',
  'thinking_type:adaptive': 'the model does not support thinking of the type adaptive',
  structured_outputs_unsupported: 'the model does not support output_config.format',
  effort_unsupported: 'the model does not support effort',
  media_budget: 'it contains too many images or document pages',
  image_block: 'it could not process an image',
  document_block: 'it could not process a document',
} as const;

export type RejectedCapability = keyof typeof capabilities;

export const rejectedCapabilities = Object.keys(capabilities) as readonly RejectedCapability[];

/**
 * Claude Code searches for the end of this message, and repeats the request without the rejected
 * part.
 */
export function capabilityText(capability: RejectedCapability): string {
  return `The provider rejected the request: ${capabilities[capability]} (capability_rejected: ${capability})`;
}
