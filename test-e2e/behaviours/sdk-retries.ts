import { RateLimitError as AnthropicRateLimitError } from '@anthropic-ai/sdk';
import { roomSeconds } from '@gateway/testkit/room';
import { RateLimitError as OpenAiRateLimitError } from 'openai';
import { describe, expect, it } from 'vitest';
import { anthropicClient, observedFetch, openAiClient, rejectionOf, type SdkExchange } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const messages = [{ role: 'user' as const, content: 'hello' }];

type Fetch = typeof fetch;

/**
 * Each package with its own default of retries; `ask` sends one request and resolves to the
 * answer's text.
 */
const packages = [
  {
    name: 'openai',
    restingAccount: 'resting-a',
    rateLimitError: OpenAiRateLimitError,
    ask: async (gateway: Topology, token: string, model: string, fetchAnswer: Fetch) => {
      const client = openAiClient(gateway, token, { maxRetries: undefined, fetch: fetchAnswer });
      const answer = await client.chat.completions.create({ model, messages });
      return answer.choices[0]?.message.content ?? '';
    },
  },
  {
    name: '@anthropic-ai/sdk',
    restingAccount: 'napping-a',
    rateLimitError: AnthropicRateLimitError,
    ask: async (gateway: Topology, token: string, model: string, fetchAnswer: Fetch) => {
      const client = anthropicClient(gateway, token, { maxRetries: undefined, fetch: fetchAnswer });
      const answer = await client.messages.create({ model, max_tokens: 100, messages });
      return answer.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    },
  },
] as const;

/** Long enough that the account is still paused when it is asked. */
const restSeconds = roomSeconds(2);

/** The packages' own retries after a 429. @see spec "Retry rules" */
export function sdkRetriesBehaviour(gateway: () => Topology): void {
  describe.each(packages)('the $name package', ({ ask, restingAccount, rateLimitError }) => {
    it('waits as long as retry-after says when every account is limited, and then succeeds', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      gateway().simulator.faults.add({
        account: restingAccount,
        fault: { preset: 'rate_limited_retry_after', resetAfterSeconds: restSeconds },
      });
      const { fetch, exchanges } = observedFetch();
      const model = `gateway/${restingAccount.slice(0, -'-a'.length)}`;
      expect(await ask(gateway(), token, model, fetch)).toBe('echo: hello');
      expect(exchanges.map(({ status }) => status)).toEqual([429, 200]);
      const [refused, answered] = exchanges as readonly [SdkExchange, SdkExchange];
      expect(refused.retryAfterSeconds).toBeGreaterThanOrEqual(1);
      expect(refused.retryAfterSeconds).toBeLessThanOrEqual(restSeconds + 1);
      const waitedMs = answered.sentAtMs - refused.answeredAtMs;
      expect(waitedMs).toBeGreaterThanOrEqual((refused.retryAfterSeconds ?? 0) * 1_000 - 50);
    });

    it('does not try again when the budget of the day is spent', async () => {
      const { text: token } = await issueToken(gateway(), { tokensPerDay: 3 });
      const { fetch, exchanges } = observedFetch();
      await ask(gateway(), token, 'gateway/claude', fetch);
      expect(await rejectionOf(ask(gateway(), token, 'gateway/claude', fetch))).toBeInstanceOf(rateLimitError);
      expect(exchanges.map(({ status }) => status)).toEqual([200, 429]);
    });
  });
}
