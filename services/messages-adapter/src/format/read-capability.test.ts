import { capabilityText, errorTexts, rejectedCapabilities } from '@gateway/adapter-kit';
import { describe, expect, it } from 'vitest';
import { mapUpstreamError } from './map-upstream-error.ts';
import { readCapability } from './read-capability.ts';

/** Providers' wordings as of 2026-11. */
const wordings = [
  ["role 'system' is not supported on this model", 'mid_conv_system'],
  [
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    'mid_conv_system',
  ],
  ["messages.3.role: Input should be 'user' or 'assistant'", 'mid_conv_system'],
  ['tools.0.custom.cache_control: Extra inputs are not permitted', 'cache_control_field'],
  ['messages.1.content.0: Invalid `signature` in `thinking` block', 'thinking_signature'],
  ['messages.1.content.0: Invalid `data` in `redacted_thinking` block', 'thinking_signature'],
  [
    'messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
    'thinking_signature',
  ],
  ['messages.1.content.0.thinking.signature: Field required', 'thinking_signature'],
  ['thinking.type: "enabled" is not supported for this model.', 'thinking_type:enabled'],
  ['"thinking.type.enabled" is not supported for this model.', 'thinking_type:enabled'],
  ['adaptive thinking is not supported on this model', 'thinking_type:adaptive'],
  [
    "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'",
    'thinking_type:adaptive',
  ],
  ['output_config.format: Extra inputs are not permitted', 'structured_outputs_unsupported'],
  ['This model does not support the effort parameter.', 'effort_unsupported'],
  ['output_config: Extra inputs are not permitted', 'effort_unsupported'],
  ["output_config.effort: Input should be 'low', 'medium', 'high'", 'effort_unsupported'],
  ['Too much media: 90 document pages + 20 images > 100', 'media_budget'],
  ['Could not process image', 'image_block'],
  ['messages.0.content.1.image.source.base64: image exceeds 5 MB maximum', 'image_block'],
  ['messages.0.content.1.tool_result.content.0.image.source.base64: image exceeds 5 MB maximum', 'image_block'],
  ['Could not process PDF', 'document_block'],
  ['messages.0.content.1.document.source.base64: The PDF was not valid.', 'document_block'],
] as const;

const textOf = (message: string) => {
  const body = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } });
  const answer = { status: 400, headers: { 'content-type': 'application/json' }, body: Buffer.from(body), nowMs: 0 };
  return mapUpstreamError(answer).error.message;
};

describe('what a model does not take of a request', () => {
  it.each(wordings)('is known by the text of the provider, which goes no further: %s', (text, capability) => {
    expect(readCapability(text)).toBe(capability);
    expect(textOf(text)).toBe(capabilityText(capability));
  });

  it('is known in every way that clients recover from', () => {
    expect(new Set(wordings.map(([, capability]) => capability))).toEqual(new Set(rejectedCapabilities));
  });

  it.each([
    ['other words', 'messages: first message must use the "user" role'],
    ['words of the request', 'messages.0.content: "This model does not support the effort parameter"'],
    ['nothing', ''],
  ])('is not guessed from %s', (_what, text) => {
    expect(readCapability(text)).toBeUndefined();
    expect(textOf(text)).toBe(errorTexts.rejected);
  });

  it('is no matter where the prompt is too long', () => {
    for (const text of ['prompt is too long: 210000 tokens > 200000 maximum', 'Prompt is too long']) {
      expect(textOf(text)).toBe(errorTexts.context_too_long);
    }
  });
});
