import { hash } from 'node:crypto';
import { chatTranslatorOf, type TranslationContext } from '@gateway/adapter-kit';
import { type ChatRequest, type ResponseFormat, readDefaultEffort } from '@gateway/chat';
import { type Conversation, convertMessages, toDeveloperItem } from './convert-messages.ts';
import { checkName, convertTools } from './convert-tools.ts';
import { EventReader } from './event-reader.ts';
import { mapReasoningEffort } from './model-families.ts';
import type { ResponsesRequest, TextMember } from './provider-request.ts';

/** Translates chat completions for a Responses provider. */
export const chatTranslator = chatTranslatorOf({
  path: '/responses',
  toProviderRequest,
  readAnswer: (answer, options) => new EventReader(answer, options),
});

/**
 * The Responses request for a chat request. Undefined members are not sent.
 * @see spec "POST /v1/chat/completions"
 */
export function toProviderRequest(request: ChatRequest, { lease, affinityKey }: TranslationContext): ResponsesRequest {
  const conversation = mentionJson(convertMessages(request.messages), request.responseFormat);
  const wanted = request.reasoningEffort ?? readDefaultEffort(lease.defaultEffort);
  const effort = mapReasoningEffort(wanted, lease.model, lease.traits);
  return {
    model: lease.model,
    stream: true,
    store: false,
    instructions: conversation.instructions,
    input: conversation.input,
    ...convertTools(request),
    text: convertResponseFormat(request.responseFormat),
    reasoning: effort === undefined ? undefined : { effort },
    prompt_cache_key: toPromptCacheKey(affinityKey || request.promptCacheKey),
  };
}

const maxCacheKeyLength = 64;

function toPromptCacheKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined;
  return key.length <= maxCacheKeyLength ? key : hash('sha256', key, 'hex');
}

/**
 * Chat nests a schema's members one level deeper than Responses, and may omit the schema. Throws
 * `invalid_request` for a name that no schema may have.
 */
export function convertResponseFormat(format: ResponseFormat): TextMember | undefined {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { format: { type: 'json_object' } };
  const { name, description, schema, strict } = format;
  checkName(name, 'response_format.json_schema.name');
  const described = { name, ...(description !== undefined && { description }) };
  const held = { schema: schema ?? { type: 'object' }, ...(strict !== undefined && { strict }) };
  return { format: { type: 'json_schema', ...described, ...held } };
}

/**
 * The provider refuses `json_object` unless its input mentions JSON, and not every deployment
 * searches the instructions for it. A conversation that never mentions it gets a developer item.
 * The item comes first, so that a cached prefix stays valid.
 */
export function mentionJson(conversation: Conversation, format: ResponseFormat): Conversation {
  if (format.type !== 'json_object' || mentionsJson(conversation)) return conversation;
  const hint = toDeveloperItem(['Answer with one JSON object and nothing else.']);
  return { ...conversation, input: [hint, ...conversation.input] };
}

function mentionsJson({ input }: Conversation): boolean {
  return input.some(
    (item) =>
      item.type === 'message' && item.content.some((part) => part.type === 'input_text' && /json/i.test(part.text)),
  );
}
