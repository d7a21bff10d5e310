import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { PlaygroundEndpoint, type PlaygroundService } from '@gateway/proto/admin/v1/playground_service_pb.js';

const { CHAT_COMPLETIONS, MESSAGES, MODELS } = PlaygroundEndpoint;

/** Answers each prompt with the same words. With the word "limit" in it, a limit refuses it. */
export const playgroundService: Partial<ServiceImpl<typeof PlaygroundService>> = {
  async *relay({ endpoint, tokenText, body }) {
    if (tokenText.startsWith('gw_a_')) throw new ConnectError("This is an operator's token.", Code.InvalidArgument);
    if (endpoint === MODELS) {
      yield head(200, 'application/json');
      return yield bytes(JSON.stringify({ object: 'list', data: models.map(([id, owned_by]) => ({ id, owned_by })) }));
    }
    if (body.includes('limit')) {
      yield head(429, 'application/json', { 'retry-after': '7' });
      return yield bytes(
        '{"error":{"code":"rate_limit_exceeded","message":"Limit of 60 requests per minute reached."}}',
      );
    }
    yield head(200, 'text/event-stream', { 'x-gateway-provider': 'provider_a', 'x-gateway-model': 'gpt-5.5' });
    const [event, last] = endpoint === CHAT_COMPLETIONS ? ofChat : endpoint === MESSAGES ? ofMessages : ofResponses;
    for (const word of words) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      yield bytes(`data: ${JSON.stringify(event(word))}\n\n`);
    }
    for (const each of last) yield bytes(`data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`);
  },
};

const models = [
  ['gateway/sterk', 'gateway'],
  ['gateway/snel', 'gateway'],
  ['gpt-5.5', 'provider_a'],
  ['claude-sonnet-5', 'provider_b'],
] as const;

const words = ['Hello', ', bonjour', ', hallo', ', ciao', ' and ', 'konnichiwa.'];

type Format = readonly [event: (text: string) => object, last: readonly (object | string)[]];

const usage = { input_tokens: 14, output_tokens: 12 };
const ofChat: Format = [
  (content) => ({ choices: [{ delta: { content } }] }),
  [
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage: { prompt_tokens: 14, completion_tokens: 12 } },
    '[DONE]',
  ],
];
const ofMessages: Format = [
  (text) => ({ type: 'content_block_delta', delta: { type: 'text_delta', text } }),
  [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage }, { type: 'message_stop' }],
];
const ofResponses: Format = [
  (delta) => ({ type: 'response.output_text.delta', delta }),
  [{ type: 'response.completed', response: { status: 'completed', usage } }],
];

function head(status: number, type: string, more: Readonly<Record<string, string>> = {}) {
  // A request that the made-up log has.
  const all = { 'content-type': type, 'x-request-id': '019a016d-7c3e-7000-8000-000001000365', ...more };
  const headers = Object.entries(all).map(([name, value]) => ({ name, value }));
  return { part: { case: 'head' as const, value: { status, headers } } };
}

function bytes(text: string) {
  return { part: { case: 'bytes' as const, value: new TextEncoder().encode(text) } };
}
