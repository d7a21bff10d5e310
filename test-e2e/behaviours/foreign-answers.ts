import type Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { anthropicClient, openAiClient } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { foreignCall, foreignText, foreignUsage } from '../topologies/foreign-providers.ts';
import type { Topology } from '../topologies/topology.ts';

const reported = {
  prompt_tokens: foreignUsage.input_tokens,
  completion_tokens: foreignUsage.output_tokens,
  total_tokens: foreignUsage.input_tokens + foreignUsage.output_tokens,
};

/** Official clients in front of the gateway, and providers by others behind it. */
export function foreignAnswersBehaviour(gateway: () => Topology): void {
  describe('an official client that a foreign provider answers', () => {
    let token: string;
    let openai: OpenAI;
    let anthropic: Anthropic;
    beforeAll(async () => {
      ({ text: token } = await issueToken(gateway(), { tokensPerDay: 10_000_000 }));
      openai = openAiClient(gateway(), token);
      anthropic = anthropicClient(gateway(), token);
    });

    describe.each([
      ['whole', false],
      ['streamed', true],
    ])('by chat completions, %s', (_how, stream) => {
      const complete = (body: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'stream'>) =>
        stream
          ? openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
          : openai.chat.completions.create(body);

      describe.each([
        ['gateway/sterk', 'gpt-5.5'],
        ['gateway/claude', 'claude-sonnet-5'],
      ])('of %s', (model, answering) => {
        it.each([
          ['greet', foreignText, 'stop'],
          ['reason', foreignText, 'stop'],
          ['search', foreignText, 'stop'],
          ['too long', foreignText, 'length'],
          ['nothing', '', 'stop'],
        ])('reads the answer to “%s”', async (content, text, finishReason) => {
          const answer = await complete({ model, messages: [{ role: 'user', content }] });
          expect(answer.model).toBe(answering);
          expect(answer.choices[0]).toMatchObject({ message: { content: text }, finish_reason: finishReason });
          expect(answer.usage).toMatchObject(reported);
        });

        it('reads a tool call beside a text, and the answer to its result', async () => {
          const question = { role: 'user', content: 'forecast' } as const;
          const { name, ...call } = foreignCall;
          const tools = [{ type: 'function', function: { name, parameters: { type: 'object' } } }] as const;
          const asked = await complete({ model, messages: [question], tools: [...tools] });
          const [choice] = asked.choices;
          expect(choice).toMatchObject({
            finish_reason: 'tool_calls',
            message: {
              content: 'Let me look.',
              tool_calls: [{ id: call.id, type: 'function', function: { name, arguments: call.arguments } }],
            },
          });
          if (choice === undefined) throw new Error('there is no choice');
          const result = { role: 'tool', tool_call_id: call.id, content: 'rain' } as const;
          const answer = await complete({ model, messages: [question, choice.message, result], tools: [...tools] });
          expect(answer.choices[0]).toMatchObject({ message: { content: 'It rains.' }, finish_reason: 'stop' });
        });
      });
    });

    it.each([
      ['whole', false],
      ['streamed', true],
    ])('by messages, %s, reads thinking, a call and the answer to its result', async (_how, stream) => {
      const ask = (messages: Anthropic.MessageParam[]) => {
        const body = { model: 'gateway/claude', max_tokens: 1_000, messages };
        return stream ? anthropic.messages.stream(body).finalMessage() : anthropic.messages.create(body);
      };
      const reasoned = await ask([{ role: 'user', content: 'reason' }]);
      expect(reasoned.content).toMatchObject([
        { type: 'thinking', thinking: 'First one thing, then another.', signature: expect.any(String) },
        { type: 'text', text: foreignText },
      ]);
      const asked = await ask([{ role: 'user', content: 'forecast' }]);
      expect(asked).toMatchObject({
        stop_reason: 'tool_use',
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: foreignCall.id, name: foreignCall.name, input: JSON.parse(foreignCall.arguments) },
        ],
        usage: foreignUsage,
      });
      const result = { type: 'tool_result', tool_use_id: foreignCall.id, content: 'rain' } as const;
      const answer = await ask([
        { role: 'user', content: 'forecast' },
        { role: 'assistant', content: asked.content },
        { role: 'user', content: [result] },
      ]);
      expect(answer).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text', text: 'It rains.' }] });
    });

    it('by responses, reads reasoning, a call and the answer to its result', async () => {
      const ask = (input: OpenAI.Responses.ResponseInputItem[]) =>
        openai.responses.stream({ model: 'gpt-5.5', input }).finalResponse();
      const question = { type: 'message', role: 'user', content: 'forecast' } as const;
      const asked = await ask([question]);
      expect(asked).toMatchObject({ output_text: 'Let me look.', usage: foreignUsage });
      const call = asked.output.find(({ type }) => type === 'function_call');
      const { id: callId, ...named } = foreignCall;
      expect(call).toMatchObject({ call_id: callId, ...named });
      if (call?.type !== 'function_call') throw new Error('there is no call');
      const answer = await ask([question, call, { type: 'function_call_output', call_id: callId, output: 'rain' }]);
      expect(answer.output_text).toBe('It rains.');
      const reasoned = await ask([{ type: 'message', role: 'user', content: 'reason' }]);
      expect(reasoned.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
      expect(reasoned.output_text).toBe(foreignText);
    });

    it('finds all of it in the ledger', async () => {
      const { today, limits } = await usageOf(gateway(), token);
      const requests = today.byModel.reduce((sum, each) => sum + each.requests, 0);
      expect(today).toMatchObject({
        requests,
        inputTokens: requests * foreignUsage.input_tokens,
        outputTokens: requests * foreignUsage.output_tokens,
      });
      expect(requests).toBe(24 + 4 + 6 + 3);
      expect(today.byModel.map(({ provider, model }) => `${provider} ${model}`).toSorted()).toEqual([
        'provider_a gpt-5.5',
        'provider_b claude-sonnet-5',
      ]);
      expect(limits.tokensPerDay?.remaining).toBe(10_000_000 - today.totalTokens);
    });
  });
}
