import type { FaultScript } from '@gateway/simulator';
import { describe, expect, it } from 'vitest';
import { chat, eventsOf } from '../client/chat.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

type UsageFault = Extract<FaultScript['fault'], { kind: 'usage' }>;

const account = { responses: 'responses-gpt-counting-a', messages: 'counting-a' } as const;
const dailyTokens = 10_000_000;
/** More tokens than any of these requests and answers has. */
const sensibleTokens = 5_000;

/** Impossible counts: a provider's report of them counts as missing. @see spec "Usage object" */
export function reportedCountsBehaviour(gateway: () => Topology): void {
  describe('counts of tokens that a provider reports', () => {
    /** Sends a request with a token of its own while the provider reports these counts. */
    const ask = async (format: keyof typeof account, usage: Omit<UsageFault, 'kind'>, send: Send) => {
      const token = await issueToken(gateway(), { tokensPerDay: dailyTokens });
      gateway().simulator.faults.add({
        account: account[format],
        times: 1,
        fault: { kind: 'usage', ...usage },
      });
      const answer = await send(gateway(), token.text);
      return { token: token.text, answer };
    };
    /** The charged tokens are those of the ledger, and the token stays usable. */
    const expectEstimate = async (token: string, send: Send) => {
      const { today, limits } = await usageOf(gateway(), token);
      expect(today).toMatchObject({ requests: 1, totalTokens: today.inputTokens + today.outputTokens });
      expect(today.inputTokens).toBeGreaterThan(0);
      expect(today.outputTokens).toBeGreaterThan(0);
      expect(today.totalTokens).toBeLessThan(sensibleTokens);
      expect(limits.tokensPerDay?.remaining).toBe(dailyTokens - today.totalTokens);
      expect((await send(gateway(), token)).status).toBe(200);
    };

    describe.each(unbelievable)('of %j are not believed', (count) => {
      it.each([
        ['chat', 'responses', responsesChat],
        ['streamed chat', 'responses', streamed(responsesChat)],
        ['/v1/responses', 'responses', responses],
        ['chat', 'messages', messagesChat],
        ['streamed chat', 'messages', streamed(messagesChat)],
        ['/v1/messages', 'messages', messages],
        ['streamed /v1/messages', 'messages', streamed(messages)],
      ] as const)('on %s by the %s format', async (_endpoint, format, send) => {
        for (const name of ['input_tokens', 'output_tokens']) {
          const members = { [name]: count };
          const { token, answer } = await ask(format, { members, atStart: members }, send);
          expect(answer.status).toBe(200);
          await expectEstimate(token, send);
        }
      });
    });

    it.each([
      ['in message_start', { atStart: { output_tokens: 1e15 } }],
      ['in message_delta', { members: { output_tokens: 1e15, input_tokens: -1 } }],
    ])('are each judged by themselves: %s', async (_where, usage) => {
      const { token, answer } = await ask('messages', usage, streamed(messages));
      expect(answer.text).toContain(':1000000000000000');
      await expectEstimate(token, streamed(messages));
    });

    it('are relayed as they came', async () => {
      const members = { output_tokens: 1e15, input_tokens: -1 };
      const relayed = await ask('responses', { members }, responses);
      expect(relayed.answer.text).toContain('"input_tokens":-1,');
      expect(relayed.answer.text).toContain('"output_tokens":1000000000000000,');
      const message = await ask('messages', { members }, messages);
      expect(message.answer.json).toMatchObject({ usage: members });
    });

    it.each([
      ['responses', responsesChat],
      ['messages', messagesChat],
    ] as const)('are no usage of a chat answer by the %s format when they can not be', async (format, send) => {
      const members = { output_tokens: 1e15 };
      const { answer } = await ask(format, { members }, send);
      expect(answer.json).not.toHaveProperty('usage');
      const { answer: stream } = await ask(format, { members }, streamed(send));
      const events = eventsOf(stream.text);
      expect(events.at(-1)).toBe('[DONE]');
      expect(events.filter((event) => JSON.stringify(event).includes('"usage"'))).toEqual([]);
    });

    it('of the largest size are recorded to the token', async () => {
      const members = { input_tokens: 2 ** 40, output_tokens: 2 ** 40 };
      const { token, answer } = await ask('responses', { members }, responsesChat);
      expect(answer.json).toMatchObject({ usage: { prompt_tokens: 2 ** 40, completion_tokens: 2 ** 40 } });
      const { today, limits } = await usageOf(gateway(), token);
      expect(today).toMatchObject({ inputTokens: 2 ** 40, outputTokens: 2 ** 40, totalTokens: 2 ** 41 });
      expect(limits.tokensPerDay?.remaining).toBe(0);
      expect((await responsesChat(gateway(), token)).status).toBe(429);
    });

    it('of details that are more than the whole are cut to it', async () => {
      const members = {
        input_tokens: 30,
        input_tokens_details: { cached_tokens: 1_000 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 50 },
      };
      const { token, answer } = await ask('responses', { members }, responsesChat);
      expect(answer.json).toMatchObject({
        usage: {
          prompt_tokens: 30,
          prompt_tokens_details: { cached_tokens: 30 },
          completion_tokens: 20,
          completion_tokens_details: { reasoning_tokens: 20 },
        },
      });
      expect((await usageOf(gateway(), token)).today).toMatchObject({ inputTokens: 30, cachedTokens: 30 });
    });
  });
}

/** Values in JSON that are no count of tokens. */
const unbelievable = [1e15, -5, 2.5, '7', 2 ** 40 + 1, Number.MAX_SAFE_INTEGER, { count: 3 }] as const;

type Send = (
  gateway: Topology,
  token: string,
  more?: Readonly<Record<string, unknown>>,
) => Promise<{ readonly status: number; readonly text: string; readonly json: unknown }>;

const responsesChat: Send = (gateway, token, more) => chat(gateway, token, { model: 'gpt-counting', ...more });
const messagesChat: Send = (gateway, token, more) => chat(gateway, token, { model: 'gateway/counting', ...more });
const responses: Send = (gateway, token, more) =>
  relay(gateway, token, { path: '/v1/responses', body: responsesBody('gpt-counting', 'Hello there', more) });
const messages: Send = (gateway, token, more) =>
  relay(gateway, token, { path: '/v1/messages', body: messagesBody('gateway/counting', 'Hello there', more) });

function streamed(send: Send): Send {
  return (gateway, token) => send(gateway, token, { stream: true, ...(usesOptions(send) ? withUsage : {}) });
}

function usesOptions(send: Send): boolean {
  return send === responsesChat || send === messagesChat;
}

const withUsage = { stream_options: { include_usage: true } };
