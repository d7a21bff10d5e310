import type OpenAI from 'openai';
import { BadRequestError } from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { chatModels, messagesChatModels, responsesChatModels } from './openai-sdk-models.ts';

const cityProperties = { city: { type: 'string' } };
const weatherTool: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: cityProperties, required: ['city'] } },
};
const strictWeatherTool: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'weather',
    strict: true,
    parameters: { type: 'object', properties: cityProperties, required: ['city'], additionalProperties: false },
  },
};
const nowTool: OpenAI.ChatCompletionFunctionTool = { type: 'function', function: { name: 'now' } };

const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content });
const callOf = (id: string, name: string, text: string): OpenAI.ChatCompletionMessageFunctionToolCall => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const namesOf = ({ message }: OpenAI.ChatCompletion.Choice) =>
  message.tool_calls?.map((call) => (call.type === 'function' ? call.function.name : call.type));

/**
 * Function tools through the official `openai` package: calls, their results, and the choice among
 * them.
 */
export function openAiSdkToolsBehaviour(gateway: () => Topology): void {
  describe('tools of the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    describe.each(chatModels)('on %s', (model) => {
      const askOnce = async (params: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>) => {
        const { choices } = await client.chat.completions.create({ model, ...params });
        return choices[0] ?? expect.fail('there is no choice');
      };

      it.each([true, false])('are run in parallel, with and without arguments, streamed: %s', async (stream) => {
        const asked: object[] = [];
        const runnable = (name: string, properties: Record<string, { type: string }>, answer: string) => ({
          type: 'function' as const,
          function: {
            name,
            description: `Tells the ${name}`,
            parameters: { type: 'object', properties },
            parse: (text: string) => JSON.parse(text) as object,
            function: (input: object) => {
              asked.push(input);
              return answer;
            },
          },
        });
        const params = {
          model,
          messages: [user('#tool now {} #tool weather {"city":"Delft"} #tool now')],
          tools: [runnable('now', {}, 'noon'), runnable('weather', cityProperties, 'rain')],
        };
        const runner = stream
          ? client.chat.completions.runTools({ ...params, stream: true })
          : client.chat.completions.runTools(params);
        expect(await runner.finalContent()).toBe('now returned: noon\nweather returned: rain\nnow returned: noon');
        expect(asked).toEqual([{}, { city: 'Delft' }, {}]);
        const roles = runner.messages.map(({ role }) => role);
        expect(roles).toEqual(['user', 'assistant', 'tool', 'tool', 'tool', 'assistant']);
      });

      it.each([true, false])('that are strict have their arguments parsed, streamed: %s', async (stream) => {
        const params = { model, messages: [user('#tool weather {"city":"Delft"}')], tools: [strictWeatherTool] };
        const { choices } = stream
          ? await client.chat.completions.stream(params).finalChatCompletion()
          : await client.chat.completions.parse(params);
        expect(choices[0]?.finish_reason).toBe('tool_calls');
        expect(choices[0]?.message.tool_calls).toMatchObject([
          { type: 'function', function: { name: 'weather', parsed_arguments: { city: 'Delft' } } },
        ]);
      });

      it('take their results as a text, as text parts, and empty, in any order', async () => {
        const calls = [callOf('call_1', 'weather', '{"city":"Delft"}'), callOf('call_2', 'now', '{}')];
        const { message } = await askOnce({
          tools: [weatherTool, nowTool],
          messages: [
            user('weather and time?'),
            { role: 'assistant', content: null, tool_calls: [...calls, callOf('call_3', 'now', '')] },
            { role: 'tool', tool_call_id: 'call_2', content: 'noon' },
            {
              role: 'tool',
              tool_call_id: 'call_1',
              content: [
                { type: 'text', text: 'rain,' },
                { type: 'text', text: 'then sun' },
              ],
            },
            { role: 'tool', tool_call_id: 'call_3', content: '' },
            user('and so?'),
          ],
        });
        expect(message.content).toContain('now returned: noon');
        expect(message.content).toContain('weather returned: rain,\nthen sun');
        expect(message.content).toContain('echo: and so?');
      });

      it.each([
        ['none', []],
        ['auto', ['now']],
        ['required', ['now']],
      ] as const)('are chosen by tool_choice %s', async (choice, names) => {
        const content = choice === 'required' ? 'hello' : '#tool now {}';
        const answer = await askOnce({ tools: [nowTool, weatherTool], tool_choice: choice, messages: [user(content)] });
        expect(namesOf(answer) ?? []).toEqual(names);
        expect(answer.finish_reason).toBe(names.length === 0 ? 'stop' : 'tool_calls');
      });

      it('are chosen by their name', async () => {
        const answer = await askOnce({
          tools: [nowTool, weatherTool],
          tool_choice: { type: 'function', function: { name: 'weather' } },
          messages: [user('hello')],
        });
        expect(namesOf(answer)).toEqual(['weather']);
      });

      it('are called one at a time when parallel calls are not wanted', async () => {
        const content = '#tool now {} #tool weather {"city":"Delft"}';
        const tools = [nowTool, weatherTool];
        const one = await askOnce({ tools, parallel_tool_calls: false, messages: [user(content)] });
        const both = await askOnce({ tools, messages: [user(content)] });
        expect([namesOf(one), namesOf(both)]).toEqual([['now'], ['now', 'weather']]);
      });

      it.each(chatModels)('were called by %s, and the conversation continues here', async (earlierModel) => {
        const messages = [user('#tool weather {"city":"Delft"} #tool now {}')];
        const tools = [weatherTool, nowTool];
        const { choices } = await client.chat.completions.create({ model: earlierModel, messages, tools });
        const earlier = choices[0]?.message ?? expect.fail('there is no choice');
        const results = (earlier.tool_calls ?? []).map(({ id }) => ({
          role: 'tool' as const,
          tool_call_id: id,
          content: `result of ${id}`,
        }));
        expect(results).toHaveLength(2);
        const { message } = await askOnce({ tools, messages: [...messages, earlier, ...results] });
        for (const { content } of results) expect(message.content).toContain(`returned: ${content}`);
      });

      it('have ids that a provider would not accept', async () => {
        const ids = ['functions.weather:0', `call_${'x'.repeat(120)}`, `call_${'x'.repeat(119)}y`, 'à propos'];
        const { message } = await askOnce({
          tools: [weatherTool],
          messages: [
            user('weather?'),
            { role: 'assistant', content: '', tool_calls: ids.map((id) => callOf(id, 'weather', '{"city":"Delft"}')) },
            ...ids.map((id, n) => ({ role: 'tool' as const, tool_call_id: id, content: `result ${n}` })),
          ],
        });
        expect(message.content).toBe([0, 1, 2, 3].map((n) => `weather returned: result ${n}`).join('\n'));
      });

      it('may be missing while their calls are in the conversation', async () => {
        const { message, finish_reason } = await askOnce({
          messages: [
            user('weather?'),
            { role: 'assistant', tool_calls: [callOf('call_1', 'weather', '{"city":"Delft"}')] },
            { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
            { role: 'assistant', content: 'It rains.' },
            user('thanks'),
          ],
        });
        expect(message.content).toBe('echo: thanks');
        expect(finish_reason).toBe('stop');
      });
    });

    describe('with an argument whose name only Responses providers take', () => {
      const parameters = { type: 'object', properties: { ...cityProperties, 'filter[id]': { type: 'string' } } };
      const tool = { type: 'function' as const, function: { name: 'search', parameters } };
      const askWith = (model: string) =>
        client.chat.completions.create({ model, messages: [user('hello')], tools: [nowTool, tool] });

      it.each(responsesChatModels)('are offered by %s', async (model) => {
        expect((await askWith(model)).choices[0]?.message.content).toBe('echo: hello');
      });

      it.each(messagesChatModels)('are BadRequestError on %s, which names them', async (model) => {
        const thrown = await rejectionOf(askWith(model));
        expect(thrown).toBeInstanceOf(BadRequestError);
        const message = expect.stringContaining('tools[1].function.parameters.properties must have names of 1 to 64');
        expect(thrown).toMatchObject({ status: 400, code: 'invalid_request', message });
      });
    });
  });
}
