import type { AnswerResult, ProviderAnswer } from '@gateway/adapter-kit';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frame, readFixture, replayedAtMs } from './__fixtures__/replay.ts';
import { RelayAnswerReader } from './relay-answer-reader.ts';

const usage = { inputTokens: 81, cachedTokens: 64, outputTokens: 23, reasoningTokens: 0 };

/** Recorded answers that end, and what is reported about them. */
const answers: Readonly<Record<string, Partial<Omit<Relayed, 'ending'>> & { readonly ending?: unknown }>> = {
  text: { answerId: 'resp_0a1', usage, producedCharacters: 'Grüße aus 東京 🗼.'.length },
  reasoning: { producedCharacters: '**Weighing the question**'.length + 'Forty-two.'.length },
  'tool-call': { producedCharacters: 'Let me look.{"city":"Amsterdam"}'.length },
  'tool-call-without-arguments': {},
  'parallel-tools': {},
  refusal: {},
  incomplete: { usage },
  'incomplete-reasoning-only': {},
  'content-filter': {},
  'several-messages': {},
  'json-after-commentary': {},
  'no-usage': { usage: undefined },
  'only-output': { usage },
  'unknown-events': {},
  'error-mid-stream': { usage: undefined, ending: relayedFailure(AttemptResult.SERVER_ERROR) },
  'context-too-long': { usage: undefined, ending: relayedFailure(AttemptResult.REJECTED) },
};

describe.each(Object.entries(answers))('RelayAnswerReader on %s', (name, expected) => {
  const bytes = readFixture(name);

  it('relays every byte, in one piece or byte by byte', () => {
    const relayed = relay([bytes]);
    expect(relayed).toMatchObject({ ending: { kind: 'finished' }, ...expected, text: bytes.toString() });
    expect(relay(singleBytes(bytes))).toEqual(relayed);
  });

  it('relays CRLF line ends as they are', () => {
    const withCarriageReturns = Buffer.from(bytes.toString().replaceAll('\n', '\r\n'));
    const relayed = relay([withCarriageReturns]);
    expect(relayed).toEqual({ ...relay([bytes]), text: withCarriageReturns.toString() });
    expect(relay(singleBytes(withCarriageReturns))).toEqual(relayed);
  });

  it('gives nothing to the client while the provider has said nothing', () => {
    const reader = newReader();
    reader.push(bytes.subarray(0, bytes.indexOf('\n\n', bytes.indexOf('event: response.in_progress')) + 2));
    expect(reader).toMatchObject({ hasContent: false, result: undefined, answerId: expect.stringMatching(/^resp_/) });
    expect(reader.take()).toHaveLength(0);
  });
});

describe('RelayAnswerReader', () => {
  it.each(['text', 'empty-output', 'error-mid-stream'])('gives the same at every split of %s', (name) => {
    const bytes = readFixture(name);
    const whole = relay([bytes]);
    for (let split = 1; split < bytes.length; split += 1) {
      expect(relay([bytes.subarray(0, split), bytes.subarray(split)])).toEqual(whole);
    }
  });

  it('gives whole events only, each as soon as it is there', () => {
    const events = readFixture('text')
      .toString()
      .split(/(?<=\n\n)/);
    const reader = newReader();
    const taken = events.map((event) => {
      reader.push(Buffer.from(event.slice(0, -1)));
      const early = Buffer.from(reader.take()).toString();
      reader.push(Buffer.from('\n'));
      return [early, Buffer.from(reader.take()).toString()];
    });
    const [created = '', inProgress = '', ...others] = events;
    const firstContent = created + inProgress + others[0];
    expect(taken).toEqual([['', ''], ['', ''], ['', firstContent], ...others.slice(1).map((event) => ['', event])]);
  });

  it('changes nothing of arbitrary streams, however they are split', () => {
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 1, max: 40 })), (text, sizes) => {
        const bytes = Buffer.from(text);
        const whole = relay([bytes]);
        expect(relay(cut(bytes, sizes))).toEqual(whole);
        if (isRelayedWhole(whole.ending)) expect(whole.text).toBe(text);
        else expect(text.startsWith(whole.text)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['text', 'stop'],
    ['tool-call', 'tool_calls'],
    ['incomplete', 'length'],
    ['content-filter', 'content_filter'],
  ])('knows why the model stopped, and which one it was: %s', (name, finishReason) => {
    const reader = newReader();
    reader.push(readFixture(name));
    expect(reader.finishReason).toBe(finishReason);
    expect(reader.answeringModel).toMatch(/^gpt-/);
  });

  it('has a head that passes on what the next request needs', () => {
    const reader = newReader();
    expect(reader.head).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    reader.onHead({
      status: 200,
      headers: { 'content-type': 'text/event-stream', 'x-codex-turn-state': 'ts', 'x-request-id': 'secret' },
    });
    expect(reader.head.headers).toEqual({
      'content-type': 'text/event-stream',
      'x-codex-turn-state': 'ts',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
  });
});

describe('an empty output', () => {
  it('is filled with the items that came before, and nothing else changes', () => {
    const bytes = readFixture('empty-output');
    const { text, ending } = relay([bytes]);
    expect(ending).toEqual({ kind: 'finished' });
    const items = itemsOf(bytes.toString());
    expect(items).toHaveLength(3);
    const last = bytes.lastIndexOf('"output":[]');
    expect(text).toBe(
      `${bytes.toString('utf8', 0, last)}"output":[${items.join(',')}]${bytes.toString('utf8', last + 11)}`,
    );
  });

  it('is filled where no deltas came, and what was said is counted by the items', () => {
    const { text, producedCharacters } = relay([readFixture('no-deltas')]);
    expect(outputOf(text)).toHaveLength(2);
    expect(producedCharacters).toBe('Whole text.{"ok":true}'.length);
  });

  it.each(['response.completed', 'response.incomplete'])('is filled at the end of %s, by output_index', (type) => {
    const { text } = relay([
      ...[2, 0, 10].map((output_index) =>
        frame({ type: 'response.output_item.done', output_index, item: { id: `i${output_index}` } }),
      ),
      frame({ type, response: { output: [] } }),
    ]);
    expect(outputOf(text)).toEqual([{ id: 'i0' }, { id: 'i2' }, { id: 'i10' }]);
  });

  it('is filled with every item, also where several have one output index', () => {
    const done = (item: object) => frame({ type: 'response.output_item.done', output_index: 0, item });
    const [text1, call1, call2] = [{ id: 'msg_a' }, { id: 'fc_a', n: 1 }, { id: 'fc_b', n: 2 }];
    const [bare1, bare2] = [{ call_id: 'call_1' }, { call_id: 'call_2' }];
    const completed = frame({ type: 'response.completed', response: { output: [] } });
    expect(outputOf(relay([...[text1, call1, call2].map(done), completed]).text)).toEqual([text1, call1, call2]);
    expect(outputOf(relay([...[bare1, bare2].map(done), completed]).text)).toEqual([bare1, bare2]);
    expect(outputOf(relay([done(call1), done({ ...call1, n: 3 }), completed]).text)).toEqual([{ ...call1, n: 3 }]);
  });

  it('is filled byte for byte', () => {
    const item = '{ "id":"a" ,"n":12345678901234567890,"n":1.0, "t":"\\u0061\\/é" }';
    const { text } = relay([
      `data: {"item": ${item} , "type":"response.output_item.done"}\n\n`,
      'data:{"type":"response.completed","response":{"output":[1],"output" : [ ] ,"id":"r","big":12345678901234567890}}  \n\n',
    ]);
    expect(text).toContain(
      `data:{"type":"response.completed","response":{"output":[1],"output" : [${item}] ,"id":"r","big":12345678901234567890}}  \n\n`,
    );
  });

  it('is filled where data has several lines', () => {
    const { text } = relay([
      'data: {"type":"response.output_item.done",\r\ndata: "item":{"id":\r\ndata: "a"}}\r\n\r\n',
      'event: response.completed\r\ndata: {"response":{"output":[\r\ndata: ]},\r\ndata: "n":1}\r\n\r\n',
    ]);
    expect(text.endsWith('data: {"response":{"output":[{"id": "a"}]},\r\ndata: "n":1}\r\n\r\n')).toBe(true);
  });

  it('is filled where it is null', () => {
    const { text } = relay([
      frame({ type: 'response.output_item.done', output_index: 0, item: { id: 'a' } }),
      frame({ type: 'response.completed', response: { output: null } }),
    ]);
    expect(outputOf(text)).toEqual([{ id: 'a' }]);
  });

  it('stays as it is when no item came, or when the items are too large to be kept', () => {
    const completed = frame({ type: 'response.completed', response: { output: [] } });
    expect(relay([completed]).text).toBe(completed);
    const image = frame({ type: 'response.output_item.done', output_index: 0, item: { result: 'x'.repeat(9 << 20) } });
    expect(relay([image, image, completed]).text.endsWith(completed)).toBe(true);
  });
});

describe('before the first content', () => {
  it.each([
    ['failed-first', AttemptResult.RATE_LIMITED],
    ['usage-limit-first', AttemptResult.RATE_LIMITED],
    ['overloaded-first', AttemptResult.OVERLOADED],
  ])('%s is a failure, which holds what came', (name, result) => {
    const bytes = readFixture(name);
    const { ending, text, hasContent } = relay([bytes]);
    expect({ text, hasContent }).toEqual({ text: '', hasContent: false });
    expect(failureOf(ending)).toMatchObject({ result, upstreamStatus: 0 });
    expect(answerText(ending)).toBe(bytes.toString());
    expect(relay(singleBytes(bytes)).ending).toEqual(ending);
  });

  it('a limit lasts until the used-up window of the account resets', () => {
    const resetAtSeconds = replayedAtMs / 1_000 + 600;
    const { ending } = relay([
      frame({ type: 'codex.rate_limits', rate_limits: { primary: { used_percent: 100, reset_at: resetAtSeconds } } }),
      frame({ type: 'error', error: { code: 'rate_limit_exceeded' } }),
    ]);
    expect(failureOf(ending)).toMatchObject({ retryAtMs: resetAtSeconds * 1_000, modelScoped: false });
  });

  it.each([
    ['codex.rate_limits', frame({ type: 'codex.rate_limits' })],
    ['a queue', frame({ type: 'response.queued', response: {} })],
    ['keep-alives', frame({ type: 'keepalive' })],
    ['pings', 'event: ping\ndata: {}\n\n'],
    ['comments', ': still here\n\n'],
    ['names without data', 'event: response.output_text.delta\n\n'],
  ])('%s is no content', (_what, text) => {
    const reader = newReader();
    reader.push(Buffer.from(text));
    expect(reader.hasContent).toBe(false);
    expect(reader.take()).toHaveLength(0);
  });

  it.each(['response.output_item.added', 'response.output_text.delta', 'response.yet_to_come'])(
    '%s is content',
    (type) => {
      const text = `: hello\n\n${frame({ type })}`;
      const reader = newReader();
      reader.push(Buffer.from(text));
      expect(reader.hasContent).toBe(true);
      expect(Buffer.from(reader.take()).toString()).toBe(text);
    },
  );

  it.each(['context_length_exceeded', 'invalid_prompt', 'image_too_large', 'cyber_policy'])(
    'a request that fails for %s is answered: no account would take it',
    (code) => {
      const failed = frame({ type: 'response.failed', response: { status: 'failed', error: { code } } });
      const ending = relayedFailure(AttemptResult.REJECTED);
      expect(relay([created, failed])).toMatchObject({ text: created + failed, ending });
      const error = frame({ type: 'error', code });
      expect(relay([created, error, failed])).toMatchObject({ text: created + error + failed, ending });
      expect(relay([created, error])).toMatchObject({ text: created + error, ending });
    },
  );

  it.each([
    ['an unknown error', frame({ type: 'response.failed', response: { error: { code: 'new' } } })],
    ['a cancelled response', frame({ type: 'response.cancelled', response: {} })],
    [
      'a completed response with the status failed',
      frame({ type: 'response.completed', response: { status: 'failed' } }),
    ],
  ])('%s is a failure of the provider', (_what, last) => {
    const { ending, text } = relay([created, last]);
    expect(text).toBe('');
    expect(failureOf(ending)?.result).toBe(AttemptResult.SERVER_ERROR);
    expect(answerText(ending)).toBe(created + last);
  });

  it.each([
    ['ends', created],
    ['has nothing in it', ''],
    ['can’t be read', 'data: <html>\n\n'],
    ['is done without an answer', 'data: [DONE]\n\n'],
    ['has an end that can’t be read', 'data: {"type":"response.completed","resp\n\n'],
    ['has an endless line', `data: ${'x'.repeat(33 << 20)}`],
  ])('a stream that %s is broken, and there is nothing to pass on', (_what, text) => {
    const { ending, text: relayed } = relay([text]);
    expect(relayed).toBe('');
    expect(failureOf(ending)).toMatchObject({ result: AttemptResult.SERVER_ERROR });
    expect(failureOf(ending)?.answer).toBeUndefined();
  });

  it('passes on the failure alone, or nothing, when all is too large', () => {
    const large = frame({ type: 'response.created', response: { instructions: 'x'.repeat(64 << 10) } });
    const error = frame({ type: 'error', code: 'server_error' });
    expect(answerText(relay([large, error]).ending)).toBe(error);
    const largeError = frame({ type: 'error', code: 'server_error', message: 'x'.repeat(64 << 10) });
    expect(answerText(relay([largeError]).ending)).toBeUndefined();
  });
});

describe('after the first content', () => {
  const delta = frame({ type: 'response.output_text.delta', delta: 'Hi' });
  const failed = frame({ type: 'response.failed', response: { error: { code: 'server_error' }, usage: null } });
  const error = frame({ type: 'error', code: 'rate_limit_exceeded' });

  it.each([
    ['response.failed', failed, AttemptResult.SERVER_ERROR],
    ['response.cancelled', frame({ type: 'response.cancelled', response: {} }), AttemptResult.SERVER_ERROR],
    ['an error', error, AttemptResult.RATE_LIMITED],
    ['an error that response.failed follows', error + failed, AttemptResult.SERVER_ERROR],
    ['an error object without a type', 'data: {"error":{"code":"server_error"}}\n\n', AttemptResult.SERVER_ERROR],
    ['a last event without its blank line', failed.trimEnd(), AttemptResult.SERVER_ERROR],
  ])('%s is relayed and ends the answer as a failure', (_what, rest, result) => {
    expect(relay([delta, rest])).toMatchObject({ text: delta + rest, ending: relayedFailure(result) });
  });

  it('an error that only looks like the end is relayed, and the answer ends well', () => {
    const rest = error + delta + frame({ type: 'response.completed', response: {} });
    expect(relay([delta, rest])).toMatchObject({ text: delta + rest, ending: { kind: 'finished' } });
  });

  it('holds an error back until it is certain that nothing follows', () => {
    const reader = newReader();
    reader.push(Buffer.from(delta + error));
    expect(Buffer.from(reader.take()).toString()).toBe(delta);
    reader.push(Buffer.from(': bye\n\n'));
    expect(reader.take()).toHaveLength(0);
    reader.end();
    expect(Buffer.from(reader.take()).toString()).toBe(`${error}: bye\n\n`);
  });

  it.each([
    ['ends', ''],
    ['ends within an event', 'data: {"type":"response.output_text.delta"}\n'],
    ['ends within its last event', 'data: {"type":"response.completed","resp'],
    ['ends within a type', 'data: {"type":"response.comp'],
    ['goes on after an error and ends', error + delta],
    ['has an end that can’t be read', 'data: {"type":"response.completed","resp\n\n'],
    ['has an endless line', `data: ${'x'.repeat(33 << 20)}`],
  ])('a stream that %s is broken, and keeps what was whole', (_what, rest) => {
    const { text, ending } = relay([delta, rest]);
    expect(failureOf(ending)?.result).toBe(AttemptResult.SERVER_ERROR);
    expect(text).toBe(rest.startsWith(error) ? delta + rest : delta);
  });

  it('relays events that it can’t read', () => {
    const rest = `data: {"type\n\ndata: hello\n\n${failed}`;
    expect(relay([delta, rest]).text).toBe(delta + rest);
  });

  it('relays [DONE] at the end, and nothing else after it', () => {
    const done = 'data: [DONE]\r\n\r\n';
    expect(relay([delta, failed, done]).text).toBe(delta + failed + done);
    expect(relay([delta, failed, delta]).text).toBe(delta + failed);
  });
});

const created = frame({ type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } });

interface Relayed {
  readonly text: string;
  readonly ending: AnswerResult | undefined;
  readonly hasContent: boolean;
  readonly answerId: string | undefined;
  readonly usage: RelayAnswerReader['reportedUsage'];
  readonly producedCharacters: number;
}

function relay(pieces: Iterable<string | Uint8Array>): Relayed {
  const reader = newReader();
  const taken: Uint8Array[] = [];
  for (const piece of pieces) {
    reader.push(Buffer.from(piece));
    taken.push(reader.take());
  }
  reader.end();
  taken.push(reader.take());
  return {
    text: Buffer.concat(taken).toString(),
    ending: reader.result,
    hasContent: reader.hasContent,
    answerId: reader.answerId,
    usage: reader.reportedUsage,
    producedCharacters: reader.producedCharacters,
  };
}

function newReader(): RelayAnswerReader {
  return new RelayAnswerReader({ nowMs: replayedAtMs, maxEventBytes: 32 * 1024 * 1024 });
}

function relayedFailure(result: AttemptResult) {
  return { kind: 'failed', isRelayed: true, failure: { result } };
}

function isRelayedWhole(ending: AnswerResult | undefined): boolean {
  return ending?.kind === 'finished' || (ending?.kind === 'failed' && ending.isRelayed === true);
}

function failureOf(ending: AnswerResult | undefined) {
  return ending?.kind === 'failed' ? ending.failure : undefined;
}

function answerText(ending: AnswerResult | undefined): string | undefined {
  const answer: ProviderAnswer | undefined = failureOf(ending)?.answer;
  if (answer === undefined) return undefined;
  expect(answer).toMatchObject({ status: 200, contentType: expect.stringMatching(/^text\/event-stream/) });
  return Buffer.from(answer.body).toString();
}

function itemsOf(text: string): readonly string[] {
  return [...text.matchAll(/^data: \{"type":"response.output_item.done".*?"item":(.*)\}$/gm)].map(
    ([, item]) => item ?? '',
  );
}

function outputOf(text: string): unknown {
  const [, data = ''] = /data: (.*)\n\n$/.exec(text) ?? [];
  return JSON.parse(data).response.output;
}

function* singleBytes(bytes: Buffer): Generator<Uint8Array> {
  for (const byte of bytes) yield Uint8Array.of(byte);
}

function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Uint8Array> {
  let start = 0;
  for (const size of sizes) {
    yield bytes.subarray(start, start + size);
    start += size;
  }
  yield bytes.subarray(start);
}

const lineEnd = fc.constantFrom('\n', '\r\n');

const event = fc
  .tuple(
    fc.constantFrom(
      'response.created',
      'response.in_progress',
      'codex.rate_limits',
      'response.output_item.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.yet_to_come',
    ),
    fc.object(),
    fc.constantFrom('', ' ', '   '),
    fc.boolean(),
    fc.boolean(),
    lineEnd,
  )
  .map(([type, { type: _type, ...members }, padding, isNamed, isFirst, end]) => {
    const name = isNamed ? `event: ${type}${end}` : '';
    const json = JSON.stringify(isFirst ? { type, ...members } : { ...members, type });
    return `${name}data:${padding}${json}${padding}${end}${end}`;
  });

const aside = fc
  .tuple(fc.constantFrom(': c', 'id: 7', 'event: ping', ''), lineEnd)
  .map(([line, end]) => line + end + end);

const last = fc.constantFrom(
  '',
  'data: {"type":"response.completed","response":{"output":[{}]}}\n\n',
  'data: {"response":{"status":"incomplete"},"type":"response.incomplete"}\r\n\r\n',
  'event: error\ndata: {"error":{"code":"server_error"}}\n\n',
  'data: {"type":"response.completed","response":{"output":[{}]}}\n\ndata: [DONE]\n\n',
);

const stream = fc
  .tuple(fc.array(fc.oneof(event, aside), { maxLength: 8 }), last)
  .map(([events, end]) => events.join('') + end);

describe('reasoning in the request that the provider withheld', () => {
  it.each([
    ['organization_mismatch', true],
    ['prefix_mismatch', false],
  ])('misses the account of the session, or not: %s', (reason, expected) => {
    const removed = { id: 'rs_1', type: 'reasoning', action: 'removed', reason };
    const reader = new RelayAnswerReader({ nowMs: 0, maxEventBytes: 1_000_000 });
    const response = { id: 'resp_1', status: 'completed', output: [], input_transformations: [removed] };
    reader.push(Buffer.from(`data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`));
    expect([reader.result?.kind, reader.affinityMissed]).toEqual(['finished', expected]);
  });
});
