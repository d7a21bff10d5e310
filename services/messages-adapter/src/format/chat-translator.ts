import type { ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { createChatAnswer, parseChatRequest } from '@gateway/chat';
import { toWellFormedJson } from '@gateway/json';
import { ChatAnswerReader } from './chat-answer-reader.ts';
import { toProviderRequest } from './to-provider-request.ts';

/** Chat completions spoken to a Messages provider. The provider always streams; a client that doesn't gets the whole. */
export const chatTranslator: Translator = {
  prepare({ requestId, lease, body, nowMs }: ClientRequest): PreparedCall {
    const request = parseChatRequest(body);
    const answer = createChatAnswer({
      id: requestId,
      created: Math.floor(nowMs / 1_000),
      model: lease.model,
      stream: request.stream,
      includeUsage: request.includeUsage,
    });
    return {
      path: '/messages',
      headers: {},
      body: toWellFormedJson(toProviderRequest(request, lease)),
      answer: new ChatAnswerReader(answer),
    };
  },
};
