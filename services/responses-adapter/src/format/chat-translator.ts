import type { ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { createChatAnswer, parseChatRequest } from '@gateway/chat';
import { toWellFormedJson } from '@gateway/json';
import { ChatAnswerReader } from './chat-answer-reader.ts';
import { toProviderRequest } from './to-provider-request.ts';

/** Chat completions spoken to a Responses provider. No header of the client goes along: none is of this dialect. */
export const chatTranslator: Translator = { prepare };

function prepare({ requestId, lease, body, affinityKey, nowMs }: ClientRequest): PreparedCall {
  const request = parseChatRequest(body);
  const answer = createChatAnswer({
    id: requestId,
    created: Math.floor(nowMs / 1_000),
    model: lease.model,
    stream: request.stream,
    includeUsage: request.includeUsage,
  });
  return {
    path: '/responses',
    headers: {},
    body: toWellFormedJson(toProviderRequest(request, { lease, affinityKey })),
    answer: new ChatAnswerReader({ answer, wantsJson: request.responseFormat.type !== 'text', nowMs }),
  };
}
