import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frame, newReader, type ReplayedAnswer, readFixture, replay } from './__fixtures__/replay.ts';

const finished = { kind: 'finished' } as const;
const usage = { inputTokens: 81, cachedTokens: 64, outputTokens: 23, reasoningTokens: 0 };

/** The result of each recorded answer for a client. */
const answers: Readonly<Record<string, Partial<ReplayedAnswer>>> = {
  text: { content: 'Grüße aus 東京 🗼.', toolCalls: [], finishReason: 'stop', usage },
  reasoning: {
    content: 'Forty-two.',
    finishReason: 'stop',
    usage: { inputTokens: 120, cachedTokens: 0, outputTokens: 310, reasoningTokens: 290 },
    producedCharacters: '**Weighing the question**'.length + 'Forty-two.'.length,
  },
  'tool-call': {
    content: 'Let me look.',
    toolCalls: [{ id: 'call_Ab12', name: 'get_weather', arguments: '{"city":"Amsterdam"}' }],
    finishReason: 'tool_calls',
    producedCharacters: 'Let me look.{"city":"Amsterdam"}'.length,
  },
  'tool-call-without-arguments': {
    content: null,
    toolCalls: [
      { id: 'call_none', name: 'list_files', arguments: '{}' },
      { id: 'call_some', name: 'read_file', arguments: '{"path":"a"}' },
    ],
    finishReason: 'tool_calls',
  },
  'parallel-tools': {
    content: null,
    toolCalls: [
      { id: 'call_P1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
      { id: 'call_P2', name: 'get_time', arguments: '{"zone":"Europe/Oslo"}' },
    ],
    finishReason: 'tool_calls',
  },
  refusal: { content: null, refusal: "I can't help with that.", finishReason: 'stop' },
  incomplete: { content: 'Once upon a ti', finishReason: 'length', usage },
  'incomplete-reasoning-only': { content: '', toolCalls: [], finishReason: 'length' },
  'content-filter': { content: 'The first step', finishReason: 'content_filter' },
  'empty-output': {
    content: 'One.',
    toolCalls: [{ id: 'call_E1', name: 'probe', arguments: '{}' }],
    finishReason: 'tool_calls',
  },
  'several-messages': { content: 'I will check.\n\nIt is 4.', finishReason: 'stop' },
  'no-usage': { content: 'Hi.', finishReason: 'stop', usage: undefined },
  'no-deltas': {
    content: 'Whole text.',
    toolCalls: [{ id: 'call_W1', name: 'save', arguments: '{"ok":true}' }],
    finishReason: 'tool_calls',
  },
  'only-output': {
    content: 'All at the end.',
    toolCalls: [{ id: 'call_X1', name: 'save', arguments: '{"ok":true}' }],
    finishReason: 'tool_calls',
  },
  'unknown-events': { content: 'Still here.', finishReason: 'stop', unknownEvents: 1 },
};

describe.each(Object.entries(answers))('ChatAnswerReader on %s', (name, expected) => {
  const bytes = readFixture(name);

  it('gives the answer', () => {
    expect(replay([bytes])).toMatchObject({ ...expected, ending: finished, hasContent: true });
  });

  it('gives the same assembled as streamed', () => {
    expect(replay([bytes], { stream: false })).toEqual(replay([bytes]));
  });

  it('gives the same byte by byte, and with CRLF line ends', () => {
    expect(replay(singleBytes(bytes))).toEqual(replay([bytes]));
    const withCarriageReturns = Buffer.from(bytes.toString().replaceAll('\n', '\r\n'));
    expect(replay([withCarriageReturns])).toEqual(replay([bytes]));
  });

  it('gives nothing to the client while the provider has said nothing', () => {
    const reader = newReader();
    reader.push(bytes.subarray(0, bytes.indexOf('event: response.in_progress')));
    expect(reader.hasContent).toBe(false);
    expect(reader.take()).toHaveLength(0);
  });
});

describe('ChatAnswerReader', () => {
  it.each(['text', 'parallel-tools', 'refusal'])('gives the same at every split of %s', (name) => {
    const bytes = readFixture(name);
    const whole = replay([bytes]);
    for (let split = 1; split < bytes.length; split += 1) {
      expect(replay([bytes.subarray(0, split), bytes.subarray(split)])).toEqual(whole);
    }
  });

  it('forwards only the final message of a JSON answer', () => {
    const bytes = readFixture('json-after-commentary');
    expect(replay([bytes], { wantsJson: true })).toMatchObject({ content: '{"answer":4}', ending: finished });
    expect(replay([bytes])).toMatchObject({ content: 'Reading.\n\n{"answer":4}' });
  });

  it('forwards the commentary of a JSON answer when there is nothing else', () => {
    const bytes = readFixture('tool-call');
    const answer = replay([bytes], { wantsJson: true });
    expect(answer).toMatchObject({ content: 'Let me look.', finishReason: 'tool_calls' });
    expect(answer.toolCalls).toHaveLength(1);
  });

  it('forwards one of two messages without a phase when the answer is to be JSON', () => {
    const answer = replay(
      [
        ...[0, 1].map((output_index) => frame({ type: 'response.output_text.delta', output_index, delta: '{}' })),
        frame({ type: 'response.completed', response: { status: 'completed' } }),
      ].map((text) => Buffer.from(text)),
      { wantsJson: true },
    );
    expect(answer.content).toBe('{}');
  });

  it('leaves to other attempts what failed before its first content', () => {
    expectFailure('failed-first', { result: AttemptResult.RATE_LIMITED, modelScoped: true }, false);
    expectFailure('overloaded-first', { result: AttemptResult.OVERLOADED, upstreamStatus: 0 }, false);
  });

  it('says when the window of a limited account resets', () => {
    const expected = { result: AttemptResult.RATE_LIMITED, modelScoped: false, retryAtMs: 1_795_140_000_000 };
    expectFailure('usage-limit-first', expected, false);
  });

  it('says to a client in our own words why its request was rejected', () => {
    const error = { code: 'upstream_rejected', upstreamStatus: 400 };
    const failure = expectFailure('context-too-long', { result: AttemptResult.REJECTED, error }, false);
    expect(failure?.error.message).not.toContain('Your input exceeds');
  });

  it('fails mid-stream on an error event, without a finish reason', () => {
    const failure = expectFailure('error-mid-stream', { result: AttemptResult.SERVER_ERROR }, true);
    expect(failure?.error.message).not.toContain('req_secret');
    expect(replay([readFixture('error-mid-stream')]).content).toBe('Half an ans');
  });

  it('fails on a stream that is cut anywhere before its last event', () => {
    const bytes = readFixture('text');
    const lastEvent = bytes.lastIndexOf('event: ');
    for (let length = 0; length <= lastEvent; length += 7) {
      const answer = replay([bytes.subarray(0, length)]);
      expect(answer.ending).toMatchObject({ kind: 'failed', failure: { result: AttemptResult.SERVER_ERROR } });
      expect(answer.finishReason).toBeUndefined();
    }
  });

  it.each([
    ['broken JSON', 'data: {"type":"response.output_text.delta",\n\n'],
    ['JSON that is no object', 'data: 12\n\n'],
    ['a delta without its text', frame({ type: 'response.output_text.delta' })],
    ['a response that was cancelled', frame({ type: 'response.cancelled' })],
    ['a failed response that says nothing', frame({ type: 'response.failed' })],
    ['an empty stream', ''],
    ['nothing but [DONE]', 'data: [DONE]\n\n'],
    ['an event over the limit', `data: ${'x'.repeat(33 * 1024 * 1024)}`],
  ])('fails on %s', (_, text) => {
    const failed = { kind: 'failed', failure: { result: AttemptResult.SERVER_ERROR, upstreamStatus: 0 } };
    expect(replay([Buffer.from(text)]).ending).toMatchObject(failed);
  });

  it('fails on a call that is never named, rather than lose it', () => {
    const answer = replay([
      Buffer.from(frame({ type: 'response.function_call_arguments.delta', output_index: 0, delta: '{}' })),
      Buffer.from(frame({ type: 'response.completed', response: { status: 'completed', output: [] } })),
    ]);
    expect(answer.ending?.kind).toBe('failed');
  });

  it('reads an error object that has no type', () => {
    const answer = replay([Buffer.from('data: {"error":{"code":"slow_down","message":"x"}}\n\n')]);
    expect(answer.ending).toMatchObject({ failure: { result: AttemptResult.OVERLOADED } });
  });

  it('believes the status of a completed response that is not complete', () => {
    const response = { status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] };
    const answer = replay([Buffer.from(frame({ type: 'response.completed', response }))]);
    expect(answer).toMatchObject({ finishReason: 'content_filter', ending: finished });
  });

  it('reads nothing after the end of the response', () => {
    const reader = newReader();
    reader.push(readFixture('text'));
    expect(reader).toMatchObject({ finishReason: 'stop', answeringModel: expect.stringMatching(/^gpt-/) });
    const taken = reader.take();
    reader.push(readFixture('error-mid-stream'));
    reader.push(Buffer.alloc(33 * 1024 * 1024, 'x'));
    reader.end();
    expect(taken.length).toBeGreaterThan(0);
    expect(reader.take()).toHaveLength(0);
    expect(reader.result).toEqual(finished);
  });

  it('ends every stream, whatever events it is of, and never throws', () => {
    fc.assert(
      fc.property(fc.array(anyEvent), fc.boolean(), fc.boolean(), (events, stream, wantsJson) => {
        const answer = replay([Buffer.from(events.map(frame).join(''))], { stream, wantsJson });
        expect(answer.ending).toBeDefined();
        expect(answer.finishReason === undefined).toBe(answer.ending?.kind === 'failed');
      }),
      { numRuns: 300 },
    );
  });

  it('ends every stream of arbitrary bytes with a failure', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => {
        expect(replay(pieces).ending?.kind).toBe('failed');
      }),
    );
  });
});

const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(undefined), fc.jsonValue());
const anyItem = fc.record({
  type: fc.constantFrom('message', 'function_call', 'reasoning', 'novelty'),
  id: anyText,
  call_id: fc.oneof(fc.constantFrom('call_1', 'call_2'), anyText),
  name: anyText,
  arguments: anyText,
  phase: fc.constantFrom('commentary', 'final_answer', null),
  content: fc.array(
    fc.record({ type: fc.constantFrom('output_text', 'refusal', 'x'), text: anyText, refusal: anyText }),
  ),
});
const anyEvent = fc.record(
  {
    type: fc.constantFrom(
      'response.created',
      'response.output_item.added',
      'response.output_item.done',
      'response.content_part.done',
      'response.output_text.delta',
      'response.output_text.done',
      'response.refusal.delta',
      'response.refusal.done',
      'response.function_call_arguments.delta',
      'response.function_call_arguments.done',
      'response.reasoning_text.delta',
      'codex.rate_limits',
      'response.completed',
      'response.incomplete',
      'response.failed',
      'error',
      'novelty',
    ),
    output_index: fc.oneof(fc.nat(3), fc.jsonValue()),
    content_index: fc.oneof(fc.nat(2), fc.jsonValue()),
    delta: fc.oneof(fc.string(), fc.string(), fc.string(), anyText),
    text: anyText,
    refusal: anyText,
    arguments: anyText,
    part: fc.jsonValue(),
    item: fc.oneof(anyItem, fc.jsonValue()),
    error: fc.jsonValue(),
    rate_limits: fc.jsonValue(),
    response: fc.oneof(
      fc.record({ output: fc.array(anyItem), usage: fc.jsonValue(), error: fc.jsonValue() }),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: ['type'] },
);

function expectFailure(name: string, expected: object, hasContent: boolean) {
  const answer = replay([readFixture(name)]);
  expect(answer).toMatchObject({ ending: { kind: 'failed', failure: expected }, hasContent, finishReason: undefined });
  return answer.ending?.kind === 'failed' ? answer.ending.failure : undefined;
}

function singleBytes(bytes: Buffer): readonly Uint8Array[] {
  return Array.from(bytes, (byte) => Uint8Array.of(byte));
}
