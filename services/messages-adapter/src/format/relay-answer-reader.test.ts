import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fixtureNames, newRelayReader, readFixture, replay, replayRelayed } from './__fixtures__/replay.ts';
import { RelayAnswerReader } from './relay-answer-reader.ts';

const sse = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
const started = sse('message_start', { message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 1 } } });
const ping = sse('ping', {});
const text = (piece: string) => sse('content_block_delta', { index: 0, delta: { type: 'text_delta', text: piece } });
const stop = sse('message_stop', {});
const failing = sse('error', { error: { type: 'overloaded_error', message: 'PROVIDER TEXT' } });

const relayed = (...events: readonly string[]) => replayRelayed([Buffer.from(events.join(''))]);

describe('a relayed stream', () => {
  it.each(fixtureNames.filter((name) => endingOf(name) === 'finished'))('"%s" is what the provider sent', (name) => {
    const sent = readFixture(name);
    const { bytes, ending, reportedUsage } = replayRelayed([sent]);
    expect(ending).toEqual({ kind: 'finished' });
    expect(bytes.equals(sent)).toBe(true);
    expect(reportedUsage).toEqual(replay([sent], true).reportedUsage);
  });

  it.each(fixtureNames)('"%s" is read alike however its bytes are split', (name) => {
    const sent = readFixture(name);
    const whole = replayRelayed([sent]);
    expect(replayRelayed(Array.from(sent, (_, at) => sent.subarray(at, at + 1)))).toEqual(whole);
    for (let at = 1; at < sent.length; at++) {
      expect(replayRelayed([sent.subarray(0, at), sent.subarray(at)])).toEqual(whole);
    }
  });

  it('names the answer', () => {
    expect(relayed(started, text('Hi'), stop).answerId).toBe('msg_1');
    expect(relayed(failing).answerId).toBeUndefined();
  });

  it('goes out with the head of the provider, and with headers for proxies', () => {
    const reader = newRelayReader();
    reader.onHead({ status: 200, headers: { 'content-type': 'text/event-stream; charset=UTF-8', 'request-id': 'r' } });
    expect(reader.head).toEqual({
      status: 200,
      headers: {
        'content-type': 'text/event-stream; charset=UTF-8',
        'cache-control': 'no-cache, no-transform',
        'x-accel-buffering': 'no',
      },
    });
  });

  it('holds back all that comes before the first content', () => {
    const reader = newRelayReader();
    const seen: (readonly [boolean, string])[] = [];
    for (const piece of [': hi\n\n', started, ping, text('Hi'), ping]) {
      reader.push(Buffer.from(piece));
      seen.push([reader.hasContent, Buffer.from(reader.take()).toString()]);
    }
    const held = [false, ''] as const;
    expect(seen).toEqual([held, held, held, [true, `: hi\n\n${started}${ping}${text('Hi')}`], [true, ping]]);
  });

  it('lets an event out as soon as it has ended, and no part of it before', () => {
    const reader = newRelayReader();
    reader.push(Buffer.from(started + text('Hi') + text('you').slice(0, -1)));
    expect(Buffer.from(reader.take()).toString()).toBe(started + text('Hi'));
    reader.push(Buffer.from('\n'));
    expect(Buffer.from(reader.take()).toString()).toBe(text('you'));
  });

  it.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('may have lines that end in %s', (_, lineEnd) => {
    const sent = (started + text('Hi') + stop).replaceAll('\n', lineEnd);
    expect(relayed(sent)).toMatchObject({
      ending: { kind: 'finished' },
      bytes: Buffer.from(sent),
      producedCharacters: 2,
    });
    const cut = (started + text('Hi') + failing).replaceAll('\n', lineEnd);
    expect(relayed(cut).bytes.toString()).not.toContain('PROVIDER');
  });

  it('may end in its last event without a blank line', () => {
    const sent = started + text('Hi') + stop.trimEnd();
    expect(relayed(sent)).toMatchObject({ ending: { kind: 'finished' }, bytes: Buffer.from(sent) });
  });

  it('passes on what is not known', () => {
    const odd = ['event: novelty\ndata: not even JSON\n\n', 'data: [DONE]\n\n', ':\n\n', '\n', 'event: ping\ndata\n\n'];
    const sent = started + text('Hi') + odd.join('') + sse('content_block_delta', { delta: 'new' }) + stop;
    expect(relayed(sent)).toMatchObject({ ending: { kind: 'finished' }, bytes: Buffer.from(sent) });
  });

  it.each([
    ['an end marker', 'data: [DONE]\n\n'],
    ['a comment and a ping', `: bye\n\n${ping}`],
    ['an event that is not known', 'event: novelty\ndata: {"type":"novelty"}\n\n'],
    ['an end marker without its blank line', 'data: [DONE]\n'],
  ])('is relayed with what follows its end: %s', (_what, rest) => {
    const sent = started + text('Hi') + stop + rest;
    expect(relayed(sent)).toMatchObject({ ending: { kind: 'finished' }, bytes: Buffer.from(sent) });
  });

  it('ends before an error that follows its end', () => {
    const whole = started + text('Hi') + stop + ping;
    for (const rest of [failing, failing.trimEnd(), 'data: {"type":"error","error":{"message":"PROVIDER TEXT"\n\n']) {
      const { bytes, ending } = relayed(whole, rest, ping);
      expect(bytes.toString()).toBe(whole);
      expect(ending).toEqual({ kind: 'finished' });
    }
  });

  it('ends before half an event that follows its end', () => {
    const whole = started + text('Hi') + stop;
    const named = failing.replace('event: error', 'event: novelty');
    for (const trailer of [failing, named, ping]) {
      for (let length = 1; length < trailer.length - 2; length += 1) {
        expect(relayed(whole, trailer.slice(0, length)).bytes.toString()).toBe(whole);
      }
    }
    expect(relayed(whole, ': bye').bytes.toString()).toBe(`${whole}: bye`);
  });

  it('has content when its beginning has', () => {
    const call = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } };
    const content = [{ type: 'thinking', thinking: 'Hm', signature: 's' }, { type: 'text', text: 'Hello' }, call];
    const message = { id: 'msg_1', content, stop_reason: 'tool_use', usage: { input_tokens: 9, output_tokens: 5 } };
    const reader = newRelayReader();
    reader.push(Buffer.from(sse('message_start', { message })));
    expect(reader).toMatchObject({ hasContent: true, producedCharacters: 14, finishReason: 'tool_calls' });
    expect(Buffer.from(reader.take()).toString()).toBe(sse('message_start', { message }));
  });

  it('knows why the model stopped, and which one it was', () => {
    const reader = newRelayReader();
    const begun = sse('message_start', { message: { id: 'msg_1', model: 'claude-x-1' } });
    const delta = sse('message_delta', { delta: { stop_reason: 'max_tokens' } });
    reader.push(Buffer.from(begun + text('Hi')));
    expect(reader.finishReason).toBeUndefined();
    reader.push(Buffer.from(delta + stop));
    expect(reader).toMatchObject({ finishReason: 'length', answeringModel: 'claude-x-1' });
  });

  it('asks for tools only when it has a call of one', () => {
    const delta = sse('message_delta', { delta: { stop_reason: 'tool_use' } });
    const call = sse('content_block_start', {
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'f', input: {} },
    });
    const reasonOf = (...events: readonly string[]) => {
      const reader = newRelayReader();
      reader.push(Buffer.from(events.join('')));
      return reader.finishReason;
    };
    expect(reasonOf(started, text('Hi'), delta, stop)).toBe('stop');
    expect(reasonOf(started, call, delta, stop)).toBe('tool_calls');
  });

  it('counts cached input into the input once, however often it is reported', () => {
    const usage = { input_tokens: 4, cache_creation_input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 7 };
    const delta = sse('message_delta', { delta: {}, usage });
    expect(relayed(started, text('Hi'), delta, delta, stop).reportedUsage).toEqual({
      inputTokens: 124,
      cachedTokens: 100,
      cacheCreationTokens: 20,
      outputTokens: 7,
      reasoningTokens: 0,
    });
  });

  it.each([
    ['text', { type: 'text_delta', text: 'Hello' }, 5],
    ['thinking', { type: 'thinking_delta', thinking: 'Hm' }, 2],
    ['arguments', { type: 'input_json_delta', partial_json: '' }, 0],
    ['members in another order', { text: 'Hello', type: 'text_delta' }, 5],
    ['a text that ends like a quote', { type: 'text_delta', text: '\\' }, 1],
    ['a signature, which is encrypted thinking', { type: 'signature_delta', signature: 'x'.repeat(500) }, 300],
    ['a citation', { type: 'citations_delta', citation: { cited_text: 'x' } }, 0],
  ])('counts what the model wrote: %s', (_, delta, characters) => {
    const event = sse('content_block_delta', { index: 12, delta });
    expect(relayed(started, event).producedCharacters).toBe(characters);
    expect(relayed(started, event.replace('}}\n', '} }   \n')).producedCharacters).toBe(characters);
    expect(relayed(started, event.replace('data: ', 'data:')).producedCharacters).toBe(characters);
  });

  it('counts a signature only where no thinking is shown', () => {
    const thinking = (...deltas: readonly object[]) => [
      sse('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } }),
      ...deltas.map((delta) => sse('content_block_delta', { index: 0, delta })),
      sse('content_block_stop', { index: 0 }),
    ];
    const signature = { type: 'signature_delta', signature: 'x'.repeat(500) };
    const shown = thinking({ type: 'thinking_delta', thinking: 'Hm' }, signature);
    expect(relayed(started, ...shown).producedCharacters).toBe(2);
    expect(relayed(started, ...thinking(signature)).producedCharacters).toBe(300);
    const redacted = { type: 'redacted_thinking', data: 'x'.repeat(500) };
    expect(relayed(started, sse('content_block_start', { index: 0, content_block: redacted })).producedCharacters).toBe(
      300,
    );
  });

  it('counts blocks that come whole', () => {
    const call = { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } };
    const block = (content_block: object) => sse('content_block_start', { index: 0, content_block });
    expect(relayed(started, block(call), block({ type: 'text', text: 'abc' })).producedCharacters).toBe(10);
  });
});

describe('a relayed stream that fails', () => {
  it.each([
    ['overloaded-first', AttemptResult.OVERLOADED, false],
    ['overloaded-after-start', AttemptResult.OVERLOADED, false],
    ['error-mid-stream', AttemptResult.SERVER_ERROR, true],
    ['cut-off', AttemptResult.SERVER_ERROR, true],
  ])('%s: result %i, content: %s', (name, result, hasContent) => {
    const sent = readFixture(name);
    const replayed = replayRelayed([sent]);
    expect(replayed.ending).toMatchObject({ kind: 'failed', failure: { result, upstreamStatus: 0 } });
    expect(replayed.hasContent).toBe(hasContent);
    expect(replayed.bytes.toString()).toBe(hasContent ? sent.toString().split('event: error')[0] : '');
    expect(JSON.stringify(replayed.ending)).not.toContain('PROVIDER TEXT');
  });

  it.each([
    ['by its name', 'event: error\ndata: {"error":{"message":"PROVIDER TEXT"}}\n\n'],
    ['by its name alone', 'event: error\ndata: PROVIDER TEXT\n\n'],
    ['by its data', 'data: { "error": {"message":"PROVIDER TEXT"}, "type" : "error" }\n\n'],
    [
      'by a name and data that differ',
      'event: content_block_delta\ndata: {"type":"error","error":"PROVIDER TEXT"}\n\n',
    ],
    ['by nothing but an error in it', 'data: {"error":{"message":"PROVIDER TEXT"}}\n\n'],
    ['in lines', 'event: error\ndata: {"type":"error",\ndata: "error":"PROVIDER TEXT"}\n\n'],
    ['after a delta', `${text('you').trimEnd()}\nevent: error\ndata: {"a":{"b":"PROVIDER TEXT"}}\n\n`],
    ['before the blank line came', 'event: error\ndata: {"type":"error","error":"PROVIDER TEXT"}'],
  ])('knows an error %s', (_, event) => {
    const { ending, bytes } = relayed(started, text('Hi'), event);
    expect(ending).toMatchObject({ kind: 'failed', failure: { result: AttemptResult.SERVER_ERROR } });
    expect(bytes.toString()).toBe(started + text('Hi'));
  });

  it('keeps a code on which clients act', () => {
    const error = { type: 'invalid_request_error', details: { error_code: 'thread_already_continued' } };
    expect(relayed(started, sse('error', { error })).ending).toMatchObject({
      failure: { error: { code: 'upstream_rejected', upstreamCode: 'thread_already_continued' } },
    });
  });

  it.each([
    ['breaks off between events', ping],
    ['breaks off in an event', text('you').slice(0, -12)],
    ['breaks off before a blank line', text('you').trimEnd()],
    ['has an event that is no JSON', 'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n'],
    ['has a delta that is cut', text('you').replace('"}}', '\\"}}')],
    ['has an event that is no object', 'data: 1\n\n'],
    ['has an event without end', `data: ${'x'.repeat(5 * 1024 * 1024)}`],
  ])('that %s keeps the events before', (_, event) => {
    const { ending, bytes } = relayed(started, text('Hi'), event);
    expect(ending).toMatchObject({ failure: { result: AttemptResult.SERVER_ERROR, upstreamStatus: 0 } });
    expect(bytes.toString()).toBe(started + text('Hi') + (event === ping ? ping : ''));
  });

  it('has to begin before it can end', () => {
    expect(relayed(stop)).toMatchObject({ ending: { kind: 'failed' }, hasContent: false });
    expect(relayed()).toMatchObject({ ending: { kind: 'failed' }, hasContent: false });
  });
});

const anyEvent = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: 'grapheme' }).map(text) },
  { weight: 3, arbitrary: fc.constantFrom(started, ping, stop, failing, ': comment\n\n', '\n') },
  { weight: 2, arbitrary: fc.json().map((json) => `data: ${json}\n\n`) },
  { weight: 1, arbitrary: fc.string().map((line) => `${line}\n`) },
);
const lineEnds = fc.constantFrom('\n', '\r\n', '\r');

describe('any stream', () => {
  it('comes out as a beginning of what came in, without the provider’s words, however it is split', () => {
    fc.assert(
      fc.property(
        fc.array(anyEvent, { maxLength: 20, size: 'max' }),
        lineEnds,
        fc.array(fc.nat()),
        (events, lineEnd, cuts) => {
          const sent = Buffer.from(events.join('').replaceAll('\n', lineEnd));
          const whole = replayRelayed([sent]);
          expect(whole.ending).toBeDefined();
          expect(sent.subarray(0, whole.bytes.length).equals(whole.bytes)).toBe(true);
          expect(whole.bytes.toString()).not.toContain('PROVIDER TEXT');
          expect(whole.hasContent || whole.bytes.length === 0).toBe(true);
          expect(replayRelayed(splitAt(sent, cuts))).toEqual(whole);
        },
      ),
    );
  });

  it('never makes the reader throw', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array()), (pieces) => {
        expect(replayRelayed([Buffer.from(started), ...pieces]).ending).toMatchObject({ kind: 'failed' });
      }),
    );
  });
});

function splitAt(bytes: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b);
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

function endingOf(name: string): string | undefined {
  return replay([readFixture(name)], true).ending?.kind;
}

describe('thinking in the request that the provider withheld', () => {
  it.each([
    ['organization_binding_mismatch', true],
    ['prefix_binding_mismatch', false],
  ])('misses the account of the session, or not: %s', (reason, expected) => {
    const input_transformations = [{ type: 'thinking_dropped', path: 'messages.1.content.0', reason }];
    const message = { id: 'msg_1', type: 'message', content: [], input_transformations };
    const reader = new RelayAnswerReader(1_000_000);
    reader.push(Buffer.from(`data: ${JSON.stringify({ type: 'message_start', message })}\n\n`));
    expect(reader.affinityMissed).toBe(expected);
  });
});
