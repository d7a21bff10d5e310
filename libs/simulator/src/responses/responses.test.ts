import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postResponses, readEvents, readJson } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';

let simulator: Simulator;
let client: OpenAI;

beforeAll(async () => {
  simulator = await startSimulator();
  client = new OpenAI({ apiKey: 'a', baseURL: `${simulator.url}/v1`, maxRetries: 0 });
});

afterAll(async () => simulator[Symbol.asyncDispose]());

const weather = {
  type: 'function' as const,
  name: 'weather',
  strict: false,
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};

describe('a streamed response', () => {
  it('has the events of the provider in their order', async () => {
    const events = await readEvents(postResponses(simulator, { input: 'Hi you' }));
    expect(events.map(({ name }) => name.replace('response.', ''))).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.delta', 'output_text.delta'],
      ...['output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    ]);
    const parsed = events.map(({ data }) => JSON.parse(data));
    expect(parsed.map((event) => event.type)).toEqual(events.map(({ name }) => name));
    expect(parsed.map((event) => event.sequence_number)).toEqual(parsed.map((_, index) => index));
    expect(parsed[0].response).toMatchObject({ status: 'in_progress', output: [], usage: null });
    expect(parsed.at(-1).response.usage).toEqual({
      input_tokens: 2,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 5,
    });
  });

  it('is understood by the official client, parts of every kind included', async () => {
    const stream = client.responses.stream({
      model: 'gpt-5.5',
      input: 'Look #reason 9 #tool weather {"city":"Den Haag 🌧"} #tool weather {"city":"Delft"}',
      tools: [weather],
      reasoning: { summary: 'auto' },
    });
    const response = await stream.finalResponse();
    expect(response.output.map((item) => item.type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call',
    ]);
    expect(response.output_text).toBe('echo: Look');
    expect(response.output[2]).toMatchObject({ name: 'weather', arguments: '{"city":"Den Haag 🌧"}' });
    expect(response.usage?.output_tokens_details.reasoning_tokens).toBe(9);
  });

  it('gives the text in deltas that make up the whole', async () => {
    let text = '';
    const stream = await client.responses.create({ model: 'gpt-6', input: '日本 #long 40', stream: true });
    for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta;
    expect(text.split(' ')).toHaveLength(40);
  });

  it('streams a refusal as one', async () => {
    const response = await client.responses.stream({ model: 'gpt-5.5', input: '#refuse' }).finalResponse();
    expect(response.output[0]).toMatchObject({ content: [{ type: 'refusal', refusal: "I can't help with that." }] });
  });

  it('ends incomplete at the limit, with what fits in it', async () => {
    const events = await readEvents(postResponses(simulator, { input: '#long 50', max_output_tokens: 5 }));
    const last = JSON.parse(events.at(-1)?.data ?? '');
    expect(last).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    });
    expect(last.response.output[0].status).toBe('incomplete');
    expect(last.response.usage.output_tokens).toBe(5);
  });
});

describe('a whole response', () => {
  it('is the same as the streamed one', async () => {
    const fields = { input: 'Hi #reason 4 #tool weather {}', tools: [weather] };
    const whole = await readJson(postResponses(simulator, { ...fields, stream: false }));
    const streamed = JSON.parse((await readEvents(postResponses(simulator, fields))).at(-1)?.data ?? '').response;
    const withoutIds = (response: object) =>
      JSON.stringify(response)
        .replaceAll(/sim[0-9a-f]+/g, 'sim')
        .replaceAll(/gAAAAA[\w-]+/g, 'encrypted');
    const times = { created_at: 0, completed_at: 0 };
    expect(withoutIds({ ...whole, ...times })).toBe(withoutIds({ ...streamed, ...times }));
  });

  it('fits the schema that was asked for', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false };
    const response = await client.responses.create({
      model: 'gpt-5.5',
      input: 'Where?',
      text: { format: { type: 'json_schema', name: 'place', schema, strict: true } },
    });
    expect(JSON.parse(response.output_text)).toEqual({ city: 'city' });
  });

  it('repeats functions with the members that the request left out, and other tools as they are', async () => {
    const search = { type: 'web_search' };
    const { tools } = await readJson(
      postResponses(simulator, {
        input: 'Hi',
        stream: false,
        tools: [{ type: 'function', name: 'now' }, weather, search],
      }),
    );
    const absent = { strict: true, description: null, parameters: null };
    expect(tools).toEqual([{ type: 'function', name: 'now', ...absent }, { description: null, ...weather }, search]);
  });

  it('answers from what the tools returned', async () => {
    const response = await client.responses.create({
      model: 'gpt-5.5',
      tools: [weather],
      input: [
        { role: 'user', content: '#tool weather {}' },
        { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: '18 degrees' },
      ],
    });
    expect(response.output_text).toBe('weather returned: 18 degrees');
  });

  it('reports as much cached as asked', async () => {
    const response = await client.responses.create({ model: 'gpt-5.5', input: `#cached 7 ${'x'.repeat(100)}` });
    expect(response.usage?.input_tokens_details.cached_tokens).toBe(7);
  });
});

describe('what the Responses provider refuses', () => {
  const call = { type: 'function_call', call_id: 'c', name: 'weather', arguments: '{}' };
  const message = (role: string, content: unknown) => ({ input: [{ type: 'message', role, content }] });

  it.each([
    ['an unknown model', { model: 'gpt-0' }, 404, 'does not exist'],
    ['no model', { model: undefined }, 400, "'model'"],
    ['no input', { input: undefined }, 400, "'input'"],
    ['a parameter of another API', { max_tokens: 5 }, 400, "Unknown parameter: 'max_tokens'"],
    ['sampling parameters', { temperature: 0.5 }, 400, "'temperature' is not supported"],
    ['an effort that the model does not take', { model: 'gpt-6', reasoning: { effort: 'none' } }, 400, "'none'"],
    ['an effort that does not exist', { reasoning: { effort: 'ultra' } }, 400, "Invalid value: 'ultra'"],
    ['system messages', message('system', 'Be nice'), 400, 'System messages are not allowed'],
    ['input text of the assistant', message('assistant', [{ type: 'input_text', text: '' }]), 400, 'output_text'],
    ['output text of the user', message('user', [{ type: 'output_text', text: '' }]), 400, 'input_text'],
    ['nested image URLs', message('user', [{ type: 'input_image', image_url: { url: 'x' } }]), 400, 'image_url'],
    ['unknown items', { input: [{ type: 'tool_result' }] }, 400, 'input[0]'],
    ['references to stored items', { input: [{ type: 'item_reference', id: 'rs_1' }] }, 404, 'rs_1'],
    ['a call without output', { input: [call] }, 400, 'No tool output found for function call c.'],
    [
      'an output without call',
      { input: [{ type: 'function_call_output', call_id: 'c', output: '' }] },
      400,
      'call_id c',
    ],
    ['a long call id', { input: [{ ...call, call_id: 'c'.repeat(65) }] }, 400, 'maximum length 64'],
    ['nested tools', { tools: [{ type: 'function', function: weather }] }, 400, 'tools[0].name'],
    [
      'a nested tool choice',
      { tools: [weather], tool_choice: { type: 'function', function: {} } },
      400,
      'tool_choice.name',
    ],
    ['an undeclared forced tool', { tool_choice: { type: 'function', name: 'x' } }, 400, "'x' not found"],
    ['an open strict schema', { tools: [{ ...weather, strict: true }] }, 400, 'additionalProperties'],
    ['a schema without name', { text: { format: { type: 'json_schema', schema: {} } } }, 400, 'text.format.name'],
    ['JSON that is mentioned nowhere', { text: { format: { type: 'json_object' } } }, 400, "the word 'json'"],
    ['a long cache key', { prompt_cache_key: 'k'.repeat(65) }, 400, 'maximum length 64'],
    ['a body that is no JSON', '{', 400, 'not a valid JSON object'],
  ])('%s', async (_name, fields, status, text) => {
    const answer = await (typeof fields === 'string' ? sendRaw(fields) : postResponses(simulator, fields));
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
  });

  it('takes a message of every role and kind of part', async () => {
    const input = [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Answer in json' }] },
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA' },
        ],
      },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Yes', annotations: [] }] },
      { role: 'user', content: 'And?' },
    ];
    const answer = await postResponses(simulator, { input, text: { format: { type: 'json_object' } } });
    expect(answer.status).toBe(200);
  });

  it("answers errors in the provider's shape", async () => {
    const answer = await postResponses(simulator, { model: 'gpt-0' });
    expect(await answer.json()).toEqual({
      error: {
        message: expect.any(String),
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    });
  });

  function sendRaw(body: string) {
    return fetch(`${simulator.url}/v1/responses`, { method: 'POST', headers: { authorization: 'Bearer a' }, body });
  }
});

describe('a subscription backend', () => {
  it('only streams, stores nothing, takes fewer parameters and leaves the final output empty', async () => {
    await using backend = await startSimulator({ responsesBackend: 'subscription' });
    const detail = async (fields: object) => (await readJson(postResponses(backend, { ...fields }))).detail;
    const good = { store: false, input: [{ role: 'user', content: 'Hi' }] };
    expect(await detail({ ...good, max_output_tokens: 5 })).toBe('Unsupported parameter: max_output_tokens');
    expect(await detail({ ...good, store: undefined })).toBe('Store must be set to false');
    expect(await detail({ ...good, stream: false })).toBe('Stream must be set to true');
    expect(await detail({ ...good, input: 'Hi' })).toBe('Input must be a list');
    const events = await readEvents(postResponses(backend, good));
    expect(JSON.parse(events.at(-1)?.data ?? '')).toMatchObject({
      type: 'response.completed',
      response: { output: [] },
    });
    expect(events.some(({ name }) => name === 'response.output_item.done')).toBe(true);
  });
});
