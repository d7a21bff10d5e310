import type { RandomNumbers } from '../random-numbers.ts';

/** One kind of request to the gateway. */
export interface RequestKind {
  readonly name: string;
  readonly path: string;
  /** How to read its answer. */
  readonly shape: AnswerShape;
  /** The number of requests of this kind among ten. */
  readonly weight: number;
  readonly body: (text: string) => Readonly<Record<string, unknown>>;
}

export type AnswerShape =
  | 'chat_stream'
  | 'chat_whole'
  | 'messages_stream'
  | 'messages_whole'
  | 'responses_stream'
  | 'token_count';

const chatPath = '/v1/chat/completions';
const chatBody = (model: string, text: string) => ({ model, messages: [{ role: 'user', content: text }] });
const messagesBody = (text: string) => ({
  model: 'claude-sonnet-5',
  max_tokens: 4_000,
  messages: [{ role: 'user', content: text }],
});

/**
 * Every endpoint that a provider answers, whole and streamed; chat on a class that may change the
 * format and on one that may not.
 */
export const requestKinds: readonly RequestKind[] = [
  {
    name: 'chat, either format, streamed',
    path: chatPath,
    shape: 'chat_stream',
    weight: 2,
    body: (text) => ({ ...chatBody('gateway/sterk', text), stream: true, stream_options: { include_usage: true } }),
  },
  {
    name: 'chat, either format, whole',
    path: chatPath,
    shape: 'chat_whole',
    weight: 1,
    body: (text) => chatBody('gateway/sterk', text),
  },
  {
    name: 'chat, Messages, streamed',
    path: chatPath,
    shape: 'chat_stream',
    weight: 2,
    body: (text) => ({ ...chatBody('gateway/claude', text), stream: true }),
  },
  {
    name: 'chat, Messages, whole',
    path: chatPath,
    shape: 'chat_whole',
    weight: 1,
    body: (text) => chatBody('gateway/claude', text),
  },
  {
    name: 'messages, streamed',
    path: '/v1/messages',
    shape: 'messages_stream',
    weight: 1,
    body: (text) => ({ ...messagesBody(text), stream: true }),
  },
  { name: 'messages, whole', path: '/v1/messages', shape: 'messages_whole', weight: 1, body: messagesBody },
  {
    name: 'responses',
    path: '/v1/responses',
    shape: 'responses_stream',
    weight: 1,
    body: (text) => ({
      model: 'gpt-5.5',
      stream: true,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
    }),
  },
  {
    name: 'count_tokens',
    path: '/v1/messages/count_tokens',
    shape: 'token_count',
    weight: 1,
    body: (text) => ({ model: 'claude-sonnet-5', messages: [{ role: 'user', content: text }] }),
  },
];

export function pickKind(random: RandomNumbers): RequestKind {
  return random.pick(requestKinds.flatMap((kind) => Array.from({ length: kind.weight }, () => kind)));
}
