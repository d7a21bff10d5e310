import type { ClientRequest, PreparedCall, TranslationSteps, Translator } from '@gateway/adapter-kit';
import { createChatAnswer } from '@gateway/chat';
import { ChatAnswerReader } from './chat-answer-reader.ts';
import { translateChat } from './translate-chat.ts';

/** Chat completions spoken to a Messages provider. The provider always streams; a client that doesn't gets the whole. */
export const chatTranslator: Translator = {
  prepare: (request: ClientRequest) => toCall(request, translateChat(request.body.whole(), request)),
  steps: { worker: new URL('./chat-translation-worker.ts', import.meta.url), toCall },
};

function toCall(...[{ requestId, lease, nowMs }, translated]: Parameters<TranslationSteps['toCall']>): PreparedCall {
  const { stream, includeUsage } = translated.answer;
  const created = Math.floor(nowMs / 1_000);
  const answer = createChatAnswer({ id: requestId, created, model: lease.model, stream, includeUsage });
  return { path: '/messages', headers: noHeaders, body: translated.body, answer: new ChatAnswerReader(answer) };
}

const noHeaders = Object.freeze({});
