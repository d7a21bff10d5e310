import { assemble, readCompletion, readStreamedAnswer } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import type { Topology } from '../topologies/topology.ts';

const accounts = { messages: 'counting-a', responses: 'responses-gpt-counting-a' } as const;
type Format = keyof typeof accounts;

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** Rare shapes of providers' answers. A wrong reading of one breaks an agent or a budget. */
export function oddAnswersBehaviour(gateway: () => Topology): void {
  describe('an answer of an odd shape', () => {
    /** Sets the provider's next answer. */
    const next = (format: Format, events: readonly object[], rest = '') => {
      const body = events.map((event) => `event: ${Reflect.get(event, 'type')}\ndata: ${JSON.stringify(event)}\n\n`);
      const text = body.join('') + rest;
      const headers = { 'content-type': 'text/event-stream' };
      const fault = { kind: 'status', status: 200, headers, body: text } as const;
      gateway().simulator.faults.add({ account: accounts[format], times: 1, fault });
      return text;
    };
    const ask = async (format: Format, more: Readonly<Record<string, unknown>> = {}) => {
      const { text: token } = await issueToken(gateway(), { tokensPerDay: 10_000_000 });
      const model = format === 'messages' ? 'gateway/counting' : 'gpt-counting';
      const answer = await chat(gateway(), token, { model, ...more });
      return { answer, token };
    };
    const relayed = async (format: Format, text: string, more: Readonly<Record<string, unknown>> = {}) => {
      const { text: token } = await issueToken(gateway(), { tokensPerDay: 10_000_000 });
      const answer =
        format === 'messages'
          ? await relay(gateway(), token, { path: '/v1/messages', body: messagesBody('gateway/counting', text, more) })
          : await relay(gateway(), token, { path: '/v1/responses', body: responsesBody('gpt-counting', text, more) });
      return { answer, token };
    };
    const bookedTo = async (token: string) => (await usageOf(gateway(), token)).today;

    describe.each([
      ['whole', {}],
      ['streamed', { stream: true }],
    ])('%s', (_how, more) => {
      it('that asks for tools and calls none ends with stop, with text and without', async () => {
        for (const blocks of [[], block(0, { type: 'text', text: 'Let me look.' })]) {
          next('messages', [start(), ...blocks, ...end('tool_use')]);
          const { answer } = await ask('messages', more);
          expect(read(answer)).toMatchObject({ finishReason: 'stop', calls: [] });
        }
      });

      it.each(['messages', 'responses'] as const)(
        'whose call was cut before its first argument does not look complete: %s',
        async (format) => {
          next(format, cutCall[format]);
          const { answer } = await ask(format, more);
          expect(read(answer)).toEqual({
            finishReason: 'length',
            calls: [
              { name: 'list_files', arguments: '{}' },
              { name: 'delete_files', arguments: '' },
            ],
          });
        },
      );

      it('of two calls at one output index has two calls', async () => {
        next('responses', twoCalls);
        const { answer } = await ask('responses', more);
        expect(read(answer)).toEqual({
          finishReason: 'tool_calls',
          calls: [
            { name: 'look', arguments: '{"x":1}' },
            { name: 'wipe', arguments: '{"y":2}' },
          ],
        });
      });

      it('whose message begins whole is not lost', async () => {
        const content = [
          { type: 'text', text: 'Yes.' },
          { type: 'tool_use', id: 'toolu_1', name: 'look', input: { x: 1 } },
        ];
        next('messages', [start({ content, stop_reason: 'tool_use' }), { type: 'message_stop' }]);
        const { answer } = await ask('messages', more);
        expect(answer.text).toContain('Yes.');
        expect(read(answer)).toEqual({ finishReason: 'tool_calls', calls: [{ name: 'look', arguments: '{"x":1}' }] });
      });

      it('that retracts its reported input is recorded with it', async () => {
        next('messages', takenBack);
        const { token } = await ask('messages', more);
        expect(await bookedTo(token)).toMatchObject({ inputTokens: 4_672, cachedTokens: 50, outputTokens: 7 });
      });

      it.each(['messages', 'responses'] as const)(
        'that reports no input for a long prompt is booked with an estimate: %s',
        async (format) => {
          next(format, uncounted[format]);
          const { answer, token } = await ask(format, { ...more, messages: [{ role: 'user', content: longText }] });
          expect(answer.status).toBe(200);
          expect(answer.text).not.toContain('"usage"');
          expectEstimate(await bookedTo(token));
        },
      );
    });

    it('that retracts its reported input is recorded with it on the relay', async () => {
      const sent = next('messages', takenBack);
      const { answer, token } = await relayed('messages', 'Hello', { stream: true });
      expect(answer.text).toBe(sent);
      expect(await bookedTo(token)).toMatchObject({ inputTokens: 4_672, cachedTokens: 50, outputTokens: 7 });
    });

    it.each(['messages', 'responses'] as const)(
      'that reports no input for a long prompt is booked with an estimate on the relay: %s',
      async (format) => {
        next(format, uncounted[format]);
        const { answer, token } = await relayed(format, longText, { stream: true });
        expect(answer.status).toBe(200);
        expectEstimate(await bookedTo(token));
      },
    );

    it('that comes whole and reports no input is booked with an estimate on the relay', async () => {
      const members = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
      gateway().simulator.faults.add({ account: accounts.messages, times: 1, fault: { kind: 'usage', members } });
      const { answer, token } = await relayed('messages', longText);
      expect(answer.json).toMatchObject({ usage: members });
      expectEstimate(await bookedTo(token));
    });

    it('is relayed on /v1/messages with the bytes after its end, except for an error', async () => {
      const events = [start(), ...block(0, { type: 'text', text: 'Yes.' }), ...end('end_turn')];
      const rest = ': bye\n\nevent: ping\ndata: {"type":"ping"}\n\ndata: [DONE]\n\n';
      const sent = next('messages', events, rest);
      expect((await relayed('messages', 'Hello', { stream: true })).answer.text).toBe(sent);
      const failing = next('messages', events, 'event: error\ndata: {"type":"error","error":{"message":"No."}}\n\n');
      const { answer } = await relayed('messages', 'Hello', { stream: true });
      expect(answer.text).toBe(failing.slice(0, failing.indexOf('event: error')));
    });

    it('of items at one output index is relayed with all of them in its output', async () => {
      next('responses', twoCalls);
      const { answer } = await relayed('responses', 'Hello');
      const last = /^data: (\{"type":"response\.completed".*)$/m.exec(answer.text)?.[1] ?? '';
      expect(JSON.parse(last).response.output).toMatchObject([{ id: 'fc_a' }, { id: 'fc_b' }]);
    });

    it.each(['messages', 'responses'] as const)(
      'that begins with an event of 5 MiB is relayed as it came, and read by chat: %s',
      async (format) => {
        const sent = next(format, fetched[format]);
        const { answer } = await relayed(format, 'Hello', { stream: true });
        expect(answer.text.length).toBe(sent.length);
        expect(answer.text === sent).toBe(true);
        next(format, fetched[format]);
        const { answer: read } = await ask(format);
        expect(read.json).toMatchObject({ choices: [{ message: { content: 'Read.' }, finish_reason: 'stop' }] });
      },
    );
  });

  it('a schema whose objects may be null, with keywords that no provider takes, is answered on chat', async () => {
    const { text: token } = await issueToken(gateway(), { kind: 'personal' });
    const text = { type: 'string' };
    const pet = { type: ['object', 'null'], properties: { name: text }, required: ['name'], minProperties: 1 };
    const tags = { type: ['array', 'null'], items: text, contains: { const: 'a' } };
    const schema = { type: 'object', properties: { pet, tags }, required: ['pet', 'tags'], dependentRequired: {} };
    for (const properties of [schema.properties, { ...schema.properties, any: { type: ['object', 'null'] } }]) {
      const format = { type: 'json_schema', json_schema: { name: 'x', schema: { ...schema, properties } } };
      const answer = await chat(gateway(), token, { model: 'gateway/counting', response_format: format });
      expect(answer.status).toBe(200);
    }
  });
}

const longText = 'All work and no play. '.repeat(455);

function expectEstimate({
  inputTokens,
  outputTokens,
}: {
  readonly inputTokens: number;
  readonly outputTokens: number;
}) {
  expect(inputTokens).toBeGreaterThan(longText.length / 5);
  expect(inputTokens).toBeLessThan(longText.length / 2);
  expect(outputTokens).toBeGreaterThan(0);
}

/** The finish reason of a chat answer, and its calls. */
function read({ text, json }: Answer) {
  const { finishReason, toolCalls } = json === undefined ? assemble(readStreamedAnswer(text)) : readCompletion(text);
  return { finishReason, calls: toolCalls.map(({ id: _, ...call }) => call) };
}

function start(members: object = {}) {
  const usage = { input_tokens: 10, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage, ...members };
  return { type: 'message_start', message };
}

function block(index: number, content_block: object): readonly object[] {
  return [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ];
}

function end(stop_reason: string, usage: object = { output_tokens: 7 }): readonly object[] {
  return [{ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }, { type: 'message_stop' }];
}

function functionCall(id: string, name: string, written = '') {
  return { type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name, arguments: written };
}

function item(type: 'added' | 'done', value: object, output_index = 0) {
  return { type: `response.output_item.${type}`, output_index, item: value };
}

function response(status: 'completed' | 'incomplete', members: object = {}) {
  const usage = { input_tokens: 10, output_tokens: 7 };
  return { type: `response.${status}`, response: { id: 'resp_1', status, output: [], usage, ...members } };
}

const cutCall: Readonly<Record<Format, readonly object[]>> = {
  messages: [
    start(),
    ...block(0, { type: 'tool_use', id: 'toolu_1', name: 'list_files', input: {} }),
    ...block(1, { type: 'tool_use', id: 'toolu_2', name: 'delete_files', input: {} }),
    ...end('max_tokens'),
  ],
  responses: [
    item('added', functionCall('a', 'list_files')),
    item('done', functionCall('a', 'list_files')),
    item('added', functionCall('b', 'delete_files'), 1),
    item('done', functionCall('b', 'delete_files'), 1),
    response('incomplete', { incomplete_details: { reason: 'max_output_tokens' } }),
  ],
};

const twoCalls = [
  item('added', functionCall('a', 'look')),
  { type: 'response.function_call_arguments.delta', item_id: 'fc_a', output_index: 0, delta: '{"x":1}' },
  item('done', functionCall('a', 'look', '{"x":1}')),
  item('added', functionCall('b', 'wipe')),
  { type: 'response.function_call_arguments.delta', item_id: 'fc_b', output_index: 0, delta: '{"y":2}' },
  item('done', functionCall('b', 'wipe', '{"y":2}')),
  response('completed'),
];

const takenBack = [
  start({ usage: { input_tokens: 4_522, cache_creation_input_tokens: 100, cache_read_input_tokens: 50 } }),
  ...block(0, { type: 'text', text: 'Yes.' }),
  ...end('end_turn', { input_tokens: 0, output_tokens: 7 }),
];

const saidYes = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] };

const uncounted: Readonly<Record<Format, readonly object[]>> = {
  messages: [
    start({ usage: { input_tokens: 0, output_tokens: 1 } }),
    ...block(0, { type: 'text', text: 'Yes.' }),
    ...end('end_turn', { input_tokens: 0, output_tokens: 7 }),
  ],
  responses: [
    item('done', saidYes),
    response('completed', { usage: { input_tokens: 0, output_tokens: 7, total_tokens: 7 } }),
  ],
};

const file = 'JVBERi0x'.repeat(5 * 131_072);

/** A provider's tool has fetched a large file, before the model says anything. */
const fetched: Readonly<Record<Format, readonly object[]>> = {
  messages: [
    start(),
    ...block(0, {
      type: 'web_fetch_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: { type: 'document', data: file },
    }),
    ...block(1, { type: 'text', text: 'Read.' }),
    ...end('end_turn'),
  ],
  responses: [
    item('done', { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: file }),
    item('done', { ...saidYes, content: [{ type: 'output_text', text: 'Read.' }] }, 1),
    response('completed', { output: [{}] }),
  ],
};
