import type { ClientRequest, PreparedCall, Translator } from '@gateway/adapter-kit';
import { createChatAnswer, parseChatRequest } from '@gateway/chat';
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
    body: toJsonBody(toProviderRequest(request, { lease, affinityKey })),
    answer: new ChatAnswerReader({ answer, wantsJson: request.responseFormat.type !== 'text', nowMs }),
  };
}

/** Half of a surrogate pair, which a truncated text ends in, is no character; the provider refuses a body that has one. */
function toJsonBody(request: object): string {
  const body = JSON.stringify(request);
  return loneSurrogate.test(body) ? JSON.stringify(request, replaceLoneSurrogates) : body;
}

/** JSON.stringify escapes surrogates only when they stand alone. A text that spells such an escape is left as it is. */
const loneSurrogate = /\\ud[89a-f][\da-f]{2}/;

function replaceLoneSurrogates(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
