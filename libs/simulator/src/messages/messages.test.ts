import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { post, postMessages, readEvents, readJson } from '../__fixtures__/test-requests.ts';
import { type Simulator, startSimulator } from '../simulator.ts';

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(async () => simulator[Symbol.asyncDispose]());

const weather = { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown) => ({ role: 'assistant', content });
const use = (id: string) => ({ type: 'tool_use', id, name: 'weather', input: {} });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: '18 degrees' });

describe('a streamed message', () => {
  it('has the events of the provider in their order', async () => {
    const events = await readEvents(postMessages(simulator));
    expect(events.map(({ name }) => name)).toEqual([
      ...['message_start', 'content_block_start', 'ping', 'content_block_delta', 'content_block_delta'],
      ...['content_block_stop', 'message_delta', 'message_stop'],
    ]);
    const parsed = events.map(({ data }) => JSON.parse(data));
    expect(parsed.map((event) => event.type)).toEqual(events.map(({ name }) => name));
    expect(parsed[0].message).toMatchObject({
      content: [],
      stop_reason: null,
      usage: { input_tokens: 18, output_tokens: 1 },
    });
    expect(parsed.at(-2)).toEqual({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null, stop_details: null, container: null },
      usage: {
        input_tokens: 18,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 3,
        output_tokens_details: { thinking_tokens: 0 },
        server_tool_use: null,
      },
    });
  });

  it('puts together to the whole message', async () => {
    const fields = { messages: [user('Say #reason 6 #tool weather {"city":"Den Haag 🌧"} this')], tools: [weather] };
    const whole = await readJson(postMessages(simulator, { ...fields, stream: false }));
    const blocks = putTogether(await readEvents(postMessages(simulator, fields)));
    expect(blocks.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use']);
    expect(blocks[0]?.content).toBe(whole.content[0].thinking);
    expect(blocks[1]?.content).toBe(whole.content[1].text);
    expect(JSON.parse(blocks[2]?.content ?? '')).toEqual(whole.content[2].input);
    expect(whole).toMatchObject({ stop_reason: 'tool_use', usage: { output_tokens_details: { thinking_tokens: 6 } } });
  });

  it('sends no arguments at all for a call without any', async () => {
    const events = await readEvents(
      postMessages(simulator, { messages: [user('#tool weather {}')], tools: [weather] }),
    );
    expect(putTogether(events)).toEqual([{ type: 'tool_use', content: '' }]);
  });

  it.each([
    ['max_tokens', { max_tokens: 3, messages: [user('#long 50')] }],
    ['stop_sequence', { stop_sequences: ['ll'] }],
    ['refusal', { messages: [user('#refuse')] }],
    ['tool_use', { tools: [weather], tool_choice: { type: 'any' } }],
  ])('ends with %s when that is the reason', async (reason, fields) => {
    const events = await readEvents(postMessages(simulator, fields));
    const { delta, usage } = JSON.parse(events.at(-2)?.data ?? '');
    expect(delta.stop_reason).toBe(reason);
    expect(delta.stop_sequence).toBe(reason === 'stop_sequence' ? 'll' : null);
    expect(usage.output_tokens).toBe(simulator.requests().at(-1)?.billed.outputTokens);
  });

  it('hides or leaves out thinking as asked', async () => {
    const ask = async (thinking: object) =>
      putTogether(
        await readEvents(
          postMessages(simulator, { model: 'claude-sonnet-5', messages: [user('#reason 5 Hi')], thinking }),
        ),
      );
    expect(await ask({ type: 'adaptive', display: 'omitted' })).toMatchObject([{ type: 'thinking', content: '' }, {}]);
    expect(await ask({ type: 'disabled' })).toMatchObject([{ type: 'text' }]);
  });
});

describe('input tokens', () => {
  it('are counted without the prompt that the account adds', async () => {
    const body = { model: 'claude-haiku-4-5', messages: [user('x'.repeat(40))] };
    const counted = await readJson(post(`${simulator.url}/v1/messages/count_tokens`, body));
    const message = await readJson(postMessages(simulator, { ...body, stream: false }));
    expect(counted).toEqual({ input_tokens: 10 });
    expect(message.usage.input_tokens).toBe(26);
  });

  it.each([{ max_tokens: 10 }, { stream: true }, { stop_sequences: ['x'] }, { temperature: 1 }])(
    'are not counted for a request with %j, which concerns the answer',
    async (more) => {
      const body = { model: 'claude-haiku-4-5', messages: [user('hello')], ...more };
      const { error } = await readJson(post(`${simulator.url}/v1/messages/count_tokens`, body));
      expect(error).toEqual({
        type: 'invalid_request_error',
        message: `${Object.keys(more)[0]}: Extra inputs are not permitted`,
      });
    },
  );

  it('are reported as written to and read from the cache as asked', async () => {
    const messages = [user(`#written 40 #cached 60 ${'x'.repeat(400)}`)];
    const { usage } = await readJson(postMessages(simulator, { messages, stream: false }, { account: 'c1' }));
    const { inputTokens, cachedTokens } = simulator.billed().accounts.c1 ?? {};
    expect(usage).toMatchObject({
      input_tokens: Number(inputTokens) - 100,
      cache_creation_input_tokens: 40,
      cache_read_input_tokens: 60,
      cache_creation: { ephemeral_5m_input_tokens: 40 },
    });
    expect(cachedTokens).toBe(60);
  });
});

describe('what the Messages provider refuses', () => {
  const newest = { model: 'claude-opus-4-8' };
  const image = (media_type: string, data: string) => ({ type: 'image', source: { type: 'base64', media_type, data } });
  const format = (schema: object) => ({ output_config: { format: { type: 'json_schema', schema } } });
  const mark = { type: 'text', text: 'x', cache_control: { type: 'ephemeral' } };

  it.each([
    ['an unknown model', { model: 'claude-0' }, 404, 'model: claude-0'],
    ['no max_tokens', { max_tokens: undefined }, 400, 'max_tokens: Field required'],
    ['too many max_tokens', { max_tokens: 64_001 }, 400, '64001 > 64000'],
    ['unknown members', { max_output_tokens: 5 }, 400, 'max_output_tokens: Extra inputs are not permitted'],
    ['no messages', { messages: [] }, 400, 'at least one message'],
    ['system messages on older models', { messages: [{ role: 'system', content: 'x' }] }, 400, "role 'system'"],
    ['roles of other APIs', { messages: [{ role: 'tool', content: 'x' }] }, 400, 'messages.0.role'],
    ['an assistant message first', { messages: [assistant('x'), user('y')] }, 400, 'first message'],
    ['empty text', { messages: [user([{ type: 'text', text: '' }])] }, 400, 'must be non-empty'],
    ['blank text', { messages: [user([{ type: 'text', text: ' \n' }])] }, 400, 'non-whitespace'],
    ['empty content', { messages: [user([])] }, 400, 'non-empty content'],
    ['blocks of other APIs', { messages: [user([{ type: 'image_url' }])] }, 400, "Input tag 'image_url'"],
    [
      'a result without a use',
      { messages: [user('x'), assistant('y'), user([result('t')])] },
      400,
      'unexpected `tool_use_id`',
    ],
    [
      'a use without a result',
      { messages: [user('x'), assistant([use('t')]), user('y')] },
      400,
      'without `tool_result`',
    ],
    [
      'results in two messages',
      { messages: [user('x'), assistant([use('a'), use('b')]), user([result('a')]), user([result('b')])] },
      400,
      'without `tool_result`',
    ],
    [
      'text before results',
      { messages: [user('x'), assistant([use('a')]), user([{ type: 'text', text: 'y' }, result('a')])] },
      400,
      'before all other content',
    ],
    [
      'ids with other characters',
      { messages: [user('x'), assistant([use('a:b')]), user([result('a:b')])] },
      400,
      'should match pattern',
    ],
    [
      'input that is no object',
      { messages: [user('x'), assistant([{ ...use('a'), input: '{}' }])] },
      400,
      'valid dictionary',
    ],
    ['prefill that ends in a blank', { messages: [user('x'), assistant('y ')] }, 400, 'trailing whitespace'],
    ['prefill on newer models', { ...newest, messages: [user('x'), assistant('y')] }, 400, 'prefill'],
    ['sampling on newer models', { ...newest, temperature: 1 }, 400, '`temperature`'],
    [
      'a thinking budget on newer models',
      { ...newest, thinking: { type: 'enabled', budget_tokens: 1024 } },
      400,
      'enabled',
    ],
    ['adaptive thinking on older models', { thinking: { type: 'adaptive' } }, 400, 'adaptive'],
    ['a budget above max_tokens', { thinking: { type: 'enabled', budget_tokens: 2000 } }, 400, 'must be greater'],
    ['effort on older models', { output_config: { effort: 'low' } }, 400, 'effort parameter'],
    ['a tool choice without tools', { tool_choice: { type: 'auto' } }, 400, 'while providing tools'],
    ['an undeclared forced tool', { tools: [weather], tool_choice: { type: 'tool', name: 'x' } }, 400, "'x' not found"],
    ['nested tools', { tools: [{ type: 'custom', function: weather }] }, 400, 'tools.0.custom.name'],
    ['combined tool schemas', { tools: [{ ...weather, input_schema: { anyOf: [] } }] }, 400, 'top level'],
    ['two tools of one name', { tools: [weather, weather] }, 400, 'must be unique'],
    ['open output schemas', format({ type: 'object' }), 400, 'additionalProperties'],
    [
      'bounds in output schemas',
      format({ type: 'object', additionalProperties: false, properties: { n: { type: 'integer', minimum: 1 } } }),
      400,
      "'minimum'",
    ],
    ['blank stop sequences', { stop_sequences: ['\n'] }, 400, 'non-whitespace'],
    ['images of another type', { messages: [user([image('image/bmp', 'Qk0=')])] }, 400, 'media_type'],
    [
      'images that are of another type',
      { messages: [user([image('image/png', '/9j/4AAQ')])] },
      400,
      'appears to be a image/jpeg',
    ],
    ['five cache breakpoints', { messages: [user([mark, mark, mark, mark, mark])] }, 400, 'Found 5'],
  ])('%s', async (_name, fields, status, text) => {
    const answer = await postMessages(simulator, fields);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
  });

  it("answers errors in the provider's shape", async () => {
    const answer = await postMessages(simulator, { max_tokens: undefined });
    expect(await answer.json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'max_tokens: Field required' },
      request_id: answer.headers.get('request-id'),
    });
  });

  it('takes conversations as real clients send them', async () => {
    const conversations = [
      { messages: [user('x'), user('y')] },
      {
        messages: [
          user('x'),
          assistant([{ type: 'text', text: 'y' }, use('a'), use('b')]),
          user([result('a'), result('b'), { type: 'text', text: 'z' }]),
        ],
      },
      { ...newest, messages: [user('x'), { role: 'system', content: 'y' }] },
      { messages: [user([image('image/jpeg', '/9j/4AAQ')])] },
    ];
    for (const fields of conversations) expect((await postMessages(simulator, fields)).status).toBe(200);
    const beta = { headers: { 'anthropic-beta': 'message-threads-2026-08-12' } };
    const thread = { type: 'continue', previous_message_id: 'msg_1' };
    expect((await postMessages(simulator, { thread, messages: [user([result('a')])] }, beta)).status).toBe(200);
  });

  it('needs the version header', async () => {
    const answer = await fetch(`${simulator.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'a' },
      body: '{}',
    });
    expect(await answer.text()).toContain('anthropic-version: header is required');
  });
});

/** Assembles the blocks of a stream, as a client does. */
function putTogether(events: Awaited<ReturnType<typeof readEvents>>): readonly { type: string; content: string }[] {
  const blocks: { type: string; content: string }[] = [];
  for (const event of events.map(({ data }) => JSON.parse(data))) {
    if (event.type === 'content_block_start') blocks.push({ type: event.content_block.type, content: '' });
    const block = blocks[event.index];
    if (event.type !== 'content_block_delta' || block === undefined) continue;
    block.content += event.delta.text ?? event.delta.thinking ?? event.delta.partial_json ?? '';
  }
  return blocks;
}
