import { noteNoAnswer } from '@gateway/errors';
import { RpcError, type RpcStatus } from '@gateway/rpc';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Call, WholeEdge } from '../__fixtures__/whole-edge.ts';

const notNow = ['unavailable', 'deadline_exceeded', 'cancelled', 'resource_exhausted', 'aborted'] as const;
const faults = ['permission_denied', 'internal'] as const satisfies readonly Exclude<
  RpcStatus,
  (typeof notNow)[number]
>[];

const chat = { model: 'm', messages: [{ role: 'user', content: 'a' }] };
const messages = { model: 'm', max_tokens: 9, messages: chat.messages };
/** Every call that decides about a request, and endpoints that make it. */
const calls: readonly (readonly [call: Call, path: string, body?: object])[] = [
  ['resolve', '/v1/chat/completions', chat],
  ['resolve', '/v1/messages', messages],
  ['resolve', '/v1/messages/count_tokens', messages],
  ['resolve', '/v1/responses', { model: 'm', input: [] }],
  ['resolve', '/v1/models'],
  ['resolve', '/v1/usage'],
  ['admit', '/v1/chat/completions', chat],
  ['admit', '/v1/messages', messages],
  ['admit', '/v1/models'],
  ['peek', '/v1/usage'],
  ['acquire', '/v1/chat/completions', chat],
  ['acquire', '/v1/messages', messages],
  ['acquire', '/v1/messages/count_tokens', messages],
  ['acquire', '/v1/responses', { model: 'm', input: [] }],
  ['execute', '/v1/chat/completions', chat],
  ['execute', '/v1/messages', messages],
  ['countTokens', '/v1/messages/count_tokens', messages],
  ['listModels', '/v1/models'],
  ['getUsage', '/v1/usage'],
];

const statuses = [...notNow, ...faults];
const cases = calls
  .flatMap(([call, path, body]) => statuses.map((status) => ({ call, path, body, status })))
  // The edge decides by itself while its limiter is away.
  .filter(({ call, status }) => status !== 'unavailable' || (call !== 'admit' && call !== 'peek'));

describe('a service behind the edge that does not answer', () => {
  it.each(cases)('$status of $call at $path', async ({ call, path, body, status }) => {
    const edge = await WholeEdge.start();
    onTestFinished(() => edge[Symbol.asyncDispose]());
    edge.failures.set(call, new RpcError(status, 'a secret of ours'));
    const { headers } = await expectAnswer(edge, path, body, isNotNow(call, status));
    // Whether another attempt can succeed is for the broker to say.
    const isAttempt = call === 'execute' || call === 'countTokens';
    if (isNotNow(call, status) && !isAttempt) expect(headers.get('retry-after')).toBe('5');
  });

  it.each(cases.filter(({ status }) => status === 'aborted'))(
    'the database behind $call at $path',
    async ({ call, path, body }) => {
      const edge = await WholeEdge.start();
      onTestFinished(() => edge[Symbol.asyncDispose]());
      const away = new Error('timeout');
      noteNoAnswer(away);
      edge.failures.set(call, away);
      await expectAnswer(edge, path, body, true);
    },
  );
});

/** A request that an adapter or a broker can't take is refused for now, whatever the reason. */
function isNotNow(call: Call, status: RpcStatus): boolean {
  return ['acquire', 'execute', 'countTokens'].includes(call) || notNow.some((each) => each === status);
}

async function expectAnswer(edge: WholeEdge, path: string, body: object | undefined, isNotNow: boolean) {
  const response = await (body === undefined ? edge.get(path) : edge.post(path, body));
  const text = await response.text();
  expect([response.status, text]).toEqual([isNotNow ? 503 : 500, expect.not.stringContaining('secret')]);
  if (path.startsWith('/v1/messages'))
    expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
  else
    expect(JSON.parse(text)).toMatchObject({ error: { code: isNotNow ? 'providers_unavailable' : 'internal_error' } });
  return response;
}
