import type { TranslatedChat, TranslationContext } from '@gateway/adapter-kit';
import { parseChatRequest } from '@gateway/chat';
import { toWellFormedJson } from '@gateway/json';
import { toProviderRequest } from './to-provider-request.ts';

/** A chat request as a Responses provider takes it. Throws what is wrong with it. */
export function translateChat(body: Uint8Array, context: TranslationContext): TranslatedChat {
  const request = parseChatRequest(body);
  const { stream, includeUsage, responseFormat } = request;
  return {
    body: toWellFormedJson(toProviderRequest(request, context)),
    answer: { stream, includeUsage, wantsJson: responseFormat.type !== 'text' },
  };
}
