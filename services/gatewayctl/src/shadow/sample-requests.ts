import type { ShadowRequest } from './requests.ts';

const gpt = 'gpt-5.5';
const claude = 'claude-haiku-4-5';
const messages = [{ role: 'user', content: 'Name three rivers in Europe, in one sentence.' }];
const weather = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const forecast = [{ role: 'user', content: 'What is the weather in Paris? Use the tool.' }];

/** The requests that are sent without a recording: one of each kind. */
export const sampleRequests: readonly ShadowRequest[] = [
  post('chat', '/v1/chat/completions', { model: gpt, messages }),
  post('chat-stream', '/v1/chat/completions', {
    ...{ model: gpt, messages, stream: true },
    stream_options: { include_usage: true },
  }),
  post('chat-tools', '/v1/chat/completions', {
    ...{ model: gpt, messages: forecast },
    tools: [{ type: 'function', function: { name: 'get_weather', description: 'The weather', parameters: weather } }],
    tool_choice: { type: 'function', function: { name: 'get_weather' } },
  }),
  post('chat-claude', '/v1/chat/completions', { model: claude, messages, max_tokens: 200 }),
  post('messages', '/v1/messages', { model: claude, messages, max_tokens: 200 }),
  post('messages-stream', '/v1/messages', { model: claude, messages, max_tokens: 200, stream: true }),
  post('count-tokens', '/v1/messages/count_tokens', { model: claude, messages }),
  post('responses', '/v1/responses', {
    ...{ model: gpt, stream: true },
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Say hello.' }] }],
  }),
  { name: 'models', method: 'GET', path: '/v1/models', headers: {} },
  post('unknown-model', '/v1/chat/completions', { model: 'no-such-model', messages }),
];

function post(name: string, path: string, body: unknown): ShadowRequest {
  return { name, method: 'POST', path, headers: {}, body };
}
