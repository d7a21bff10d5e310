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
import { EventReader, type EventReaderOptions } from './event-reader.ts';
import { toProviderRequest } from './to-provider-request.ts';

/** Chat completions spoken to a Responses provider. No header of the client goes along: none is of this dialect. */
export const chatTranslator: Translator = {
  prepare: (request: ClientRequest) => toCall(request, translateChat(request.body.whole(), request)),
  toCall,
};

/** A chat request as a Responses provider takes it. Throws what is wrong with it. */
export function translateChat(body: Uint8Array, context: TranslationContext): TranslatedChat {
  const request = parseChatRequest(body);
  const { stream, includeUsage, responseFormat } = request;
  return {
    body: toWellFormedJson(toProviderRequest(request, context)),
    answer: { stream, includeUsage, wantsJson: responseFormat.type !== 'text' },
  };
}

function toCall(...[request, translated]: Parameters<NonNullable<Translator['toCall']>>): PreparedCall {
  const { requestId, lease, nowMs, maxAnswerBytes } = request;
  const { stream, includeUsage, wantsJson } = translated.answer;
  const created = Math.floor(nowMs / 1_000);
  const identity = { id: requestId, created, model: lease.model };
  const answer = createChatAnswer({ ...identity, stream, includeUsage, maxBytes: maxAnswerBytes });
  const reader = readerInto(answer, { wantsJson, nowMs, maxAnswerBytes });
  return { path: '/responses', headers: {}, body: translated.body, answer: reader };
}

export interface ReaderOptions extends Omit<EventReaderOptions, 'sink'> {
  /** The largest answer that the provider's last event may repeat. */
  readonly maxAnswerBytes: number;
}

/** Reads a provider's stream into a chat answer. */
export function readerInto(answer: ChatAnswer, { maxAnswerBytes, ...options }: ReaderOptions): ChatAnswerReader {
  const events = new EventReader({ ...options, sink: answer });
  return new ChatAnswerReader({ answer, events, maxEventBytes: maxRepeatedRequestBytes + maxAnswerBytes });
}

/** The first and the last event repeat the request's instructions and tools, which have up to 16 MiB as JSON. */
const maxRepeatedRequestBytes = 32 * 1024 * 1024;
