import { describe, expect, it } from 'vitest';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

interface MessagesUsage {
  readonly usage: {
    readonly input_tokens: number;
    readonly cache_creation_input_tokens: number;
    readonly cache_read_input_tokens: number;
    readonly output_tokens: number;
  };
}

interface ResponsesUsage {
  readonly response: {
    readonly usage: {
      readonly input_tokens: number;
      readonly input_tokens_details: { readonly cached_tokens: number };
      readonly output_tokens: number;
    };
  };
}

/** Relayed requests in usage and limits. @see spec "Usage object", "Token limits" */
export function relayUsageBehaviour(gateway: () => Topology): void {
  describe('the usage of relayed requests', () => {
    it('on /v1/messages counts what was read from and written to the cache as input', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
      const answers: MessagesUsage['usage'][] = [];
      const asked = [
        { text: `#written 40 ${'long '.repeat(40)}`, stream: false },
        { text: `#cached 40 ${'long '.repeat(40)}`, stream: false },
        { text: `#cached 30 #written 10 ${'long '.repeat(40)}`, stream: true },
      ];
      for (const { text: content, stream } of asked) {
        const body = messagesBody('gateway/bytes', content, { stream });
        const { text } = await relay(gateway(), token.text, { path: '/v1/messages', body });
        answers.push(stream ? usageOfMessageStream(text) : (JSON.parse(text) as MessagesUsage).usage);
      }
      expect(answers.map((usage) => usage.cache_creation_input_tokens)).toEqual([40, 0, 10]);
      expect(answers.map((usage) => usage.cache_read_input_tokens)).toEqual([0, 40, 30]);
      const sum = (keys: readonly (keyof MessagesUsage['usage'])[]) =>
        answers.reduce((total, usage) => total + keys.reduce((each, key) => each + usage[key], 0), 0);
      const inputTokens = sum(['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']);
      const cachedTokens = sum(['cache_read_input_tokens']);
      const outputTokens = sum(['output_tokens']);
      const totals = { requests: 3, inputTokens, cachedTokens, outputTokens, totalTokens: inputTokens + outputTokens };
      const { today, limits } = await usageOf(gateway(), token.text);
      expect(today).toMatchObject({
        ...totals,
        byModel: [{ provider: 'provider_b', model: 'claude-sonnet-5', ...totals }],
      });
      expect(limits.tokensPerDay?.remaining).toBe(1_000_000 - totals.totalTokens);
    });

    it('on /v1/responses is what the provider reports, cached tokens too', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
      const answers: ResponsesUsage['response']['usage'][] = [];
      for (const cached of [0, 5]) {
        const body = responsesBody('gpt-bytes', `hello ${'long '.repeat(9)} #cached ${cached} #reason 9`);
        const { text } = await relay(gateway(), token.text, { path: '/v1/responses', body });
        answers.push(usageOfResponseStream(text));
      }
      expect(answers[1]?.input_tokens_details.cached_tokens).toBe(5);
      const inputTokens = answers.reduce((sum, { input_tokens }) => sum + input_tokens, 0);
      const outputTokens = answers.reduce((sum, { output_tokens }) => sum + output_tokens, 0);
      const totals = {
        requests: 2,
        inputTokens,
        cachedTokens: answers[1]?.input_tokens_details.cached_tokens,
        outputTokens,
        totalTokens: inputTokens + outputTokens,
      };
      expect((await usageOf(gateway(), token.text)).today).toMatchObject({
        ...totals,
        byModel: [{ provider: 'provider_a', model: 'gpt-bytes', ...totals }],
      });
    });
  });

  describe('count_tokens', () => {
    const path = '/v1/messages/count_tokens';
    const { max_tokens: _, ...body } = messagesBody('gateway/bytes', 'How many tokens are these? '.repeat(9));

    it("answers with the provider's own count, which a message's usage exceeds by the account's prompt", async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      const counted = await relay(gateway(), token, { path, body });
      expect(counted.status).toBe(200);
      expect(counted.json).toEqual({ input_tokens: expect.any(Number) });
      const direct = await fetch(`${gateway().simulator.url}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': 'anyone', 'anthropic-version': '2023-06-01' },
        body: JSON.stringify({ ...body, model: 'claude-sonnet-5' }),
      });
      expect(counted.json).toEqual(await direct.json());
      const message = await relay(gateway(), token, { path: '/v1/messages', body: { ...body, max_tokens: 10 } });
      const { usage } = message.json as MessagesUsage;
      expect(usage.input_tokens).toBeGreaterThan((counted.json as MessagesUsage['usage']).input_tokens);
    });

    it('takes a slot of the minute and no tokens of the day, and is no request in the usage', async () => {
      const token = await issueToken(gateway(), { requestsPerMinute: 3, tokensPerDay: 1_000 });
      for (const remaining of ['2', '1', '0']) {
        const { status, headers } = await relay(gateway(), token.text, { path, body });
        expect(status).toBe(200);
        expect(headers.get('x-ratelimit-remaining-requests')).toBe(remaining);
        expect(headers.get('x-ratelimit-remaining-tokens')).toBe('1000');
      }
      const refused = await relay(gateway(), token.text, { path, body });
      expect(refused.status).toBe(429);
      expect(refused.json).toEqual({ type: 'error', error: { type: 'rate_limit_error', message: expect.any(String) } });
      const { today, limits } = await usageOf(gateway(), token.text);
      expect(today).toMatchObject({ requests: 0, totalTokens: 0, byModel: [] });
      expect(limits.tokensPerDay).toMatchObject({ remaining: 1_000 });
    });

    it('is answered when the budget of the day is spent', async () => {
      const token = await issueToken(gateway(), { tokensPerDay: 3 });
      const message = { path: '/v1/messages', body: messagesBody('gateway/bytes', 'hello') } as const;
      expect((await relay(gateway(), token.text, message)).status).toBe(200);
      expect((await relay(gateway(), token.text, message)).status).toBe(429);
      const counted = await relay(gateway(), token.text, { path, body });
      expect(counted.status).toBe(200);
      expect(counted.headers.get('x-ratelimit-remaining-tokens')).toBe('0');
    });
  });
}

/** The last report counts: reports of a stream are totals. */
function usageOfMessageStream(text: string): MessagesUsage['usage'] {
  const [, data = ''] = /event: message_delta\ndata: (.*)\n/.exec(text) ?? [];
  return (JSON.parse(data) as MessagesUsage).usage;
}

function usageOfResponseStream(text: string): ResponsesUsage['response']['usage'] {
  const [, data = ''] = /event: response\.completed\ndata: (.*)\n/.exec(text) ?? [];
  return (JSON.parse(data) as ResponsesUsage).response.usage;
}
