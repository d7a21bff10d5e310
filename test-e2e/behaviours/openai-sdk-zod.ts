import type OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openAiClient } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { chatModels } from './openai-sdk-models.ts';

const Forecast = z.object({
  city: z.string().min(1),
  days: z.array(z.object({ degrees: z.int().min(-90).max(60), sky: z.enum(['sun', 'rain']) })).min(1),
  note: z.string().nullable(),
});

/** The zod schemas of the official `openai` package: formats of answers and parameters of tools. */
export function openAiSdkZodBehaviour(gateway: () => Topology): void {
  describe.each(chatModels)('zod with the openai package on %s', (model) => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'the weather?' }];

    it.each([true, false])('gives an answer that fits the schema, streamed: %s', async (streamed) => {
      const params = { model, messages, response_format: zodResponseFormat(Forecast, 'forecast') };
      const { choices } = streamed
        ? await client.chat.completions.stream(params).finalChatCompletion()
        : await client.chat.completions.parse(params);
      expect(Forecast.safeParse(choices[0]?.message.parsed).error).toBeUndefined();
    });

    const weather = zodFunction({ name: 'weather', parameters: z.object({ city: z.string(), days: z.int() }) });

    it.each([true, false])('gives the arguments of a tool call parsed, streamed: %s', async (streamed) => {
      const content = '#tool weather {"city":"Delft","days":2}';
      const params = { model, messages: [{ role: 'user' as const, content }], tools: [weather] };
      const { choices } = streamed
        ? await client.chat.completions.stream(params).finalChatCompletion()
        : await client.chat.completions.parse(params);
      const calls = choices[0]?.message.tool_calls ?? [];
      expect(calls).toMatchObject([{ type: 'function', function: { parsed_arguments: { city: 'Delft', days: 2 } } }]);
    });

    it.each([true, false])('runs tools with arguments that fit, streamed: %s', async (stream) => {
      const asked: unknown[] = [];
      const tool = zodFunction({
        name: 'weather',
        parameters: z.object({ city: z.string(), days: z.int().optional().nullable() }),
        function: (input) => {
          asked.push(input);
          return { sky: 'rain' };
        },
      });
      const params = { model, messages: [{ role: 'user' as const, content: '#tool weather' }], tools: [tool] };
      const runner = stream
        ? client.chat.completions.runTools({ ...params, stream: true })
        : client.chat.completions.runTools(params);
      expect(await runner.finalContent()).toContain('"sky":"rain"');
      expect(asked).toEqual([{ city: expect.any(String), days: expect.any(Number) }]);
    });
  });
}
