import {
  ChatAnswerReader,
  type ClientRequest,
  type PreparedCall,
  type TranslatedChat,
  type TranslationContext,
  type Translator,
} from '@gateway/adapter-kit';
import { type ChatAnswer, createChatAnswer, parseChatRequest } from '@gateway/chat';
import { toWellFormedJson } from '@gateway/json';
import { EventReader } from './event-reader.ts';
import { toProviderRequest } from './to-provider-request.ts';

/** Chat completions spoken to a Messages provider. The provider always streams; a client that doesn't gets the whole. */
export const chatTranslator: Translator = {
  prepare: (request: ClientRequest) => toCall(request, translateChat(request.body.whole(), request)),
  toCall,
};

/** A chat request as a Messages provider takes it. Throws what is wrong with it. */
export function translateChat(body: Uint8Array, { lease }: TranslationContext): TranslatedChat {
  const request = parseChatRequest(body);
  const { stream, includeUsage, responseFormat } = request;
  return {
    body: toWellFormedJson(toProviderRequest(request, lease)),
    answer: { stream, includeUsage, wantsJson: responseFormat.type !== 'text' },
  };
}

function toCall(...[request, translated]: Parameters<NonNullable<Translator['toCall']>>): PreparedCall {
  const { requestId, lease, nowMs, maxAnswerBytes } = request;
  const { stream, includeUsage } = translated.answer;
  const created = Math.floor(nowMs / 1_000);
  const identity = { id: requestId, created, model: lease.model };
  const answer = createChatAnswer({ ...identity, stream, includeUsage, maxBytes: maxAnswerBytes });
  return { path: '/messages', headers: {}, body: translated.body, answer: readerInto(answer, { maxAnswerBytes }) };
}

/** Reads a provider's stream into a chat answer. @param maxAnswerBytes the largest answer that one event may bring whole */
export function readerInto(
  answer: ChatAnswer,
  { maxAnswerBytes }: { readonly maxAnswerBytes: number },
): ChatAnswerReader {
  return new ChatAnswerReader({
    answer,
    events: new EventReader(answer),
    maxEventBytes: maxOtherBytes + maxAnswerBytes,
  });
}

/** For blocks that are not part of a chat answer, such as what the provider's own tools found. */
const maxOtherBytes = 4 * 1024 * 1024;
