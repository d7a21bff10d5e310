import type { RequestKind } from '../load/request-kinds.ts';
import type { ScenarioPool } from './gateway-file.ts';

export type ClassName = ScenarioPool | 'either' | 'closed-or-open';

export function chatStream(name: ClassName): RequestKind {
  return {
    name: `chat on ${name}, streamed`,
    path: '/v1/chat/completions',
    shape: 'chat_stream',
    weight: 1,
    body: (text) => ({ ...chatBody(name, text), stream: true }),
  };
}

export function chatWhole(name: ClassName): RequestKind {
  return {
    name: `chat on ${name}, whole`,
    path: '/v1/chat/completions',
    shape: 'chat_whole',
    weight: 1,
    body: (text) => chatBody(name, text),
  };
}

export function messagesStream(name: ClassName): RequestKind {
  return {
    name: `messages on ${name}, streamed`,
    path: '/v1/messages',
    shape: 'messages_stream',
    weight: 1,
    body: (text) => ({ ...messagesBody(name, text), stream: true }),
  };
}

export function messagesWhole(name: ClassName): RequestKind {
  return {
    name: `messages on ${name}, whole`,
    path: '/v1/messages',
    shape: 'messages_whole',
    weight: 1,
    body: (text) => messagesBody(name, text),
  };
}

export function responsesStream(model: 'gpt-first' | 'gpt-breaking'): RequestKind {
  return {
    name: `responses on ${model}`,
    path: '/v1/responses',
    shape: 'responses_stream',
    weight: 1,
    body: (text) => ({
      model,
      stream: true,
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
    }),
  };
}

function chatBody(name: ClassName, text: string) {
  return { model: `gateway/${name}`, messages: [{ role: 'user', content: text }] };
}

function messagesBody(name: ClassName, text: string) {
  return { model: `gateway/${name}`, max_tokens: 4_000, messages: [{ role: 'user', content: text }] };
}
