import { hash } from 'node:crypto';
import { chatTranslatorOf, type TranslationContext } from '@gateway/adapter-kit';
import { type ChatRequest, readDefaultEffort } from '@gateway/chat';
import { convertMessages } from './convert-messages.ts';
import { convertResponseFormat, mentionJson } from './convert-response-format.ts';
import { convertTools } from './convert-tools.ts';
import { EventReader } from './event-reader.ts';
import { mapReasoningEffort } from './map-reasoning-effort.ts';
import type { ResponsesRequest } from './provider-request.ts';

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
