import type { RejectedCapability } from '@gateway/adapter-kit';

/**
 * The part of a rejected request that the model does not accept, according to the provider's text;
 * undefined if the text does not say.
 */
export function readCapability(text: string): RejectedCapability | undefined {
  return wordings.find(([wording]) => wording.test(text))?.[1];
}

/**
 * Anchored at the start, because later parts of a text may repeat words of the request. An unknown
 * text is not interpreted: otherwise a client would leave out something that was not rejected.
 */
const wordings: readonly (readonly [RegExp, RejectedCapability])[] = [
  [
    /^(?:messages(?:\.\d{1,6})?(?:\.role)?: )?(?:unexpected role "system"|role ['"]system['"] is not supported)/i,
    'mid_conv_system',
  ],
  [/^messages\.\d{1,6}\.role: input should be 'user' or 'assistant'/i, 'mid_conv_system'],
  [/^[\w.]{0,200}\.cache_control(?:\.\w{1,40})?: extra inputs are not permitted/i, 'cache_control_field'],
  [
    /^(?:messages\.\d{1,6}\.content\.\d{1,6}: )?invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`? block/i,
    'thinking_signature',
  ],
  [
    /^(?:messages\.\d{1,6}\.content\.\d{1,6}: )?`thinking` or `redacted_thinking` blocks .{0,80}cannot be modified/i,
    'thinking_signature',
  ],
  [/^messages\.\d{1,6}\.content\.\d{1,6}\.thinking\.signature: field required/i, 'thinking_signature'],
  [/^["']?thinking\.type(?:\.|: ?)["']?enabled["']? is not supported/i, 'thinking_type:enabled'],
  [/^thinking: input tag 'enabled' found using 'type' does not match/i, 'thinking_type:enabled'],
  [/^["']?thinking\.type(?:\.|: ?)["']?adaptive["']? is not supported/i, 'thinking_type:adaptive'],
  [/^adaptive thinking is not supported/i, 'thinking_type:adaptive'],
  [/^thinking: input tag 'adaptive' found using 'type' does not match/i, 'thinking_type:adaptive'],
  [/^output_config\.format: extra inputs are not permitted/i, 'structured_outputs_unsupported'],
  [/^this model does not support the effort parameter/i, 'effort_unsupported'],
  [/^output_config(?:\.effort)?: extra inputs are not permitted/i, 'effort_unsupported'],
  [/^output_config\.effort: input should be /i, 'effort_unsupported'],
  [/^output_config(?:\.effort)?:? .{0,60}requires a model that supports/i, 'effort_unsupported'],
  [/^too much media/i, 'media_budget'],
  [/^messages\.\d{1,6}\.content\.\d{1,6}\.(?:tool_result\.content\.\d{1,6}\.)?image\b/i, 'image_block'],
  [/^could not process image/i, 'image_block'],
  [/^messages\.\d{1,6}\.content\.\d{1,6}\.(?:tool_result\.content\.\d{1,6}\.)?(?:document|pdf)\b/i, 'document_block'],
  [/^(?:could not process pdf|this model does not support pdf)/i, 'document_block'],
];
