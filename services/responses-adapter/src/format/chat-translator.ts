import type { ClientRequest, PreparedCall, TranslationSteps, Translator } from '@gateway/adapter-kit';
import { createChatAnswer } from '@gateway/chat';
import { ChatAnswerReader } from './chat-answer-reader.ts';
import { translateChat } from './translate-chat.ts';

/** Chat completions spoken to a Responses provider. No header of the client goes along: none is of this dialect. */
export const chatTranslator: Translator = {
  prepare: (request: ClientRequest) => toCall(request, translateChat(request.body.whole(), request)),
  steps: { worker: new URL('./chat-translation-worker.ts', import.meta.url), toCall },
};

function toCall(...[request, translated]: Parameters<TranslationSteps['toCall']>): PreparedCall {
  const { requestId, lease, nowMs, maxAnswerBytes } = request;
  const { stream, includeUsage, wantsJson } = translated.answer;
  const created = Math.floor(nowMs / 1_000);
  const identity = { id: requestId, created, model: lease.model };
  const answer = createChatAnswer({ ...identity, stream, includeUsage, maxBytes: maxAnswerBytes });
  const reader = new ChatAnswerReader({ answer, wantsJson, nowMs, maxAnswerBytes });
  return { path: '/responses', headers: noHeaders, body: translated.body, answer: reader };
}

const noHeaders = Object.freeze({});
