import type { ErrorMeaning } from './error-meanings.ts';

/**
 * The messages that clients receive for a provider's error: always the gateway's own words. Agents
 * search for some of them: "prompt is too long" makes them compact the conversation and continue.
 */
export const errorTexts: Readonly<Record<ErrorMeaning, string>> = {
  limited: 'The provider limits requests. Try again later.',
  model_limited: 'The provider limits requests for this model. Try again later.',
  refused_account: 'The provider refused the account of the gateway.',
  revoked_credential: 'The provider refused the account of the gateway.',
  disabled_account: 'The provider refused the account of the gateway.',
  overloaded: 'The provider is overloaded. Try again later.',
  server_error: 'The provider failed to answer the request.',
  network: 'The provider could not be reached.',
  timeout: 'The provider took too long.',
  rejected: 'The provider rejected the request.',
  too_large: 'The provider rejected the request: it is too large.',
  context_too_long: "The prompt is too long: it is larger than the model's context window.",
  bad_image: 'The provider rejected the request: it could not use an image of it.',
  against_policy: 'The provider rejected the request: it is against the policies of the provider.',
  unreadable_reasoning: 'The provider rejected the request: it could not read the encrypted reasoning in it.',
  conflict: 'The provider has what the request is about in hand already. Try again later.',
  unknown_model: 'The provider does not offer this model.',
  lacks_long_context: 'The provider does not give its accounts the long context that the request asks for.',
};

/** The parts of a request that a model does not accept, by the names that Claude Code knows. */
const capabilities = {
  mid_conv_system: 'the model takes no system messages within the conversation',
  cache_control_field: 'it takes no cache_control',
  thinking_signature: 'a thinking block is not one of the provider, or was changed',
  'thinking_type:enabled': 'the model takes no thinking of the type enabled',
  'thinking_type:adaptive': 'the model takes no thinking of the type adaptive',
  structured_outputs_unsupported: 'the model takes no output_config.format',
  effort_unsupported: 'the model takes no effort',
  media_budget: 'it has too many images and pages',
  image_block: 'it could not use an image of it',
  document_block: 'it could not use a document of it',
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
