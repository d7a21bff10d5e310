import { createChatAnswer } from '@gateway/chat';
import { asObject, parseJson } from '@gateway/json';
import { EventSplitter, readEvent } from '@gateway/sse';
import { assemble, framed, readCompletion, readStreamedAnswer, replay } from '@gateway/testkit/adapters';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyDamage, damaged } from './__fixtures__/arbitrary-damage.ts';
import { anyAnswer } from './__fixtures__/arbitrary-events.ts';
import { anyFraming, frameEvents } from './__fixtures__/arbitrary-framing.ts';
import { cutUp } from './__fixtures__/cut-up.ts';
import { EventReader } from './event-reader.ts';

const isLong = process.env.FAULTS === 'long';

describe('any answer of the provider', () => {
  it('reaches the client whole, streamed and assembled, whichever events hold it and however they are framed', () => {
    fc.assert(
      fc.property(anyAnswer, anyFraming, ({ events, wantsJson, expected, reportedUsage, ...seen }, framing) => {
        const { pieces, unknownEvents } = frameEvents(events, framing);
        const streamed = read(pieces, { wantsJson });
        expect(assemble(readStreamedAnswer(streamed.text))).toEqual(expected);
        expect(streamed).toMatchObject({ ...seen, unknownEvents });
        expect(ofTheAnswer(streamed)).toEqual(reportedUsage);
        expect(streamed.finished).toBe(expected.finishReason !== undefined);
        const assembled = read(pieces, { wantsJson, stream: false });
        if (streamed.finished) expect(readCompletion(assembled.text)).toEqual(expected);
        else expect(assembled.text).toBe('');
        expect(assembled).toMatchObject({ ...seen, unknownEvents, finished: streamed.finished });
        expect(assembled.reportedUsage).toEqual(streamed.reportedUsage);
      }),
      { numRuns: isLong ? 1_000 : 400 },
    );
  });

  it('is the same in whatever pieces its bytes come', () => {
    fc.assert(
      fc.property(anyAnswer, anyFraming, fc.boolean(), ({ events, wantsJson }, framing, stream) => {
        const { bytes, pieces } = frameEvents(events, framing);
        expect(read(pieces, { wantsJson, stream })).toEqual(read([bytes], { wantsJson, stream }));
      }),
      { numRuns: 300 },
    );
  });

  it('that is cut off gives the beginning of what it would have given, and finishes only if its end had come', () => {
    fc.assert(
      fc.property(anyAnswer, fc.nat(20_000), ({ events, wantsJson }, cut) => {
        const bytes = Buffer.from(framed(events));
        const [beginning = bytes] = cutUp(bytes, [cut]);
        const whole = read([bytes], { wantsJson });
        const part = read([beginning], { wantsJson });
        expect(whole.text.startsWith(part.text)).toBe(true);
        expect(part.finished).toBe(whole.finished && saysTheEnd(beginning));
        expect(part.producedCharacters).toBeLessThanOrEqual(whole.producedCharacters);
      }),
      { numRuns: 500 },
    );
  });
});

describe('anything else than an answer', () => {
  it('ends in what a client can read, and finishes only after an event that ends a response', () => {
    fc.assert(
      fc.property(anyAnswer, anyDamage, fc.array(fc.nat(20_000), { maxLength: 6 }), (answer, damage, cuts) => {
        expectSense(cutUp(damaged(answer.events, damage), cuts), answer.wantsJson);
      }),
      { numRuns: isLong ? 1_000 : 400 },
    );
  });

  it('of arbitrary bytes is a failure without content', () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
      fc.json().map((json) => new TextEncoder().encode(`data: ${json}\n\n`)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        expectSense(pieces, false);
        expect(read(pieces)).toMatchObject({ text: '', finished: false, hasContent: false });
      }),
      { numRuns: 300 },
    );
  });
});

interface ReadOptions {
  readonly stream?: boolean;
  readonly wantsJson?: boolean;
}

/** Everything that a client and the caller of the adapter see. */
function read(pieces: readonly Uint8Array[], { stream = true, wantsJson = false }: ReadOptions = {}) {
  const answer = createChatAnswer({ id: 'request-1', created: 1, model: 'gpt-5.5', stream, includeUsage: true });
  return replay(
    new EventReader(answer, { wantsJson, nowMs: 0, maxAnswerBytes: 1_000_000, maxEventBytes: 1_000_000 }),
    pieces,
  );
}

function expectSense(pieces: readonly Uint8Array[], wantsJson: boolean): void {
  const bytes = Buffer.concat(pieces);
  const streamed = read(pieces, { wantsJson });
  const { deltas, finishReason, usage } = readStreamedAnswer(streamed.text);
  expect(streamed.finished).toBe(finishReason !== undefined);
  expect(streamed.finished).toBe(streamed.failure === undefined);
  if (streamed.finished) expect(saysTheEnd(bytes)).toBe(true);
  expect(streamed.hasContent).toBe(streamed.finished || deltas.length > 0);
  const hasCalls = deltas.some(({ kind }) => kind === 'call');
  if (finishReason === 'tool_calls') expect(hasCalls).toBe(true);
  if (finishReason === 'stop') expect(hasCalls).toBe(false);
  const assembled = read(pieces, { wantsJson, stream: false });
  if (streamed.finished) expect(readCompletion(assembled.text)).toEqual(assemble({ deltas, finishReason, usage }));
  else expect(assembled.text).toBe('');
  expect(read([bytes], { wantsJson })).toEqual(streamed);
}

/** True when the stream contains a whole event with which the provider ends an answer. */
function saysTheEnd(bytes: Uint8Array): boolean {
  const events: Buffer[] = [];
  const splitter = new EventSplitter({ maxEventBytes: bytes.length + 1, onEvent: (event) => events.push(event) });
  splitter.push(bytes);
  return [...events, splitter.end()].map(readEvent).some(({ name, data = '' }) => {
    const json = asObject(parseJson(data));
    return json !== undefined && [json.type, name].some((type) => ends.includes(type));
  });
}

const ends: readonly unknown[] = ['response.completed', 'response.incomplete'];

/** The counts of the answer itself; a search that it made is known even without them. */
function ofTheAnswer({ reportedUsage }: ReturnType<typeof read>) {
  if (reportedUsage?.inputTokens === undefined && reportedUsage?.outputTokens === undefined) return undefined;
  const { billing: _, ...counts } = reportedUsage;
  return counts;
}
