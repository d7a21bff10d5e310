import { createChatAnswer, maxTokenCount } from '@gateway/chat';
import { assemble, readCompletion, readStreamedAnswer, replay } from '@gateway/testkit/adapters';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { corruptedStream, damagedStream, inPiecesOf } from './__fixtures__/arbitrary-damage.ts';
import { arbitraryStream, expectedCompletion } from './__fixtures__/arbitrary-events.ts';
import { readerOptions } from './__fixtures__/replay.ts';
import { EventReader } from './event-reader.ts';

const anySizes = fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60, size: 'max' });

describe('any valid stream', () => {
  it('is exact: text, calls and arguments in their order, finish reason, usage', () => {
    check(arbitraryStream, ({ frames, expected, unknownEvents, reportedUsage }) => {
      const replayed = streamed([Buffer.from(frames.join(''))]);
      expect(readStreamedAnswer(replayed.text)).toEqual(expected);
      expect(replayed).toMatchObject({
        finished: true,
        hasContent: true,
        unknownEvents,
        reportedUsage,
      });
    });
  });

  it('is the same in one object, with the arguments of every call to the byte', () => {
    check(arbitraryStream, (stream) => {
      const { text, ...seen } = assembled([Buffer.from(stream.frames.join(''))]);
      expect(readCompletion(text)).toEqual(expectedCompletion(stream));
      const { text: _, ...seenStreamed } = streamed([Buffer.from(stream.frames.join(''))]);
      expect(seen).toEqual(seenStreamed);
    });
  });

  it('is read alike however its bytes are cut', () => {
    check(fc.tuple(arbitraryStream, anySizes), ([{ frames }, sizes]) => {
      expectSameInPieces(Buffer.from(frames.join('')), sizes);
    });
  });

  it('gives the beginning of the same answer when it is cut off, and never finishes', () => {
    check(fc.tuple(arbitraryStream, fc.nat()), ([{ frames, expected }, place]) => {
      const bytes = Buffer.from(frames.join(''));
      const end = bytes.lastIndexOf('event: message_stop');
      const { text, finished, hasContent } = streamed([bytes.subarray(0, place % end)]);
      const { deltas } = readStreamedAnswer(text);
      expect(finished).toBe(false);
      expect(deltas).toEqual(expected.deltas.slice(0, deltas.length));
      expect(hasContent).toBe(deltas.length > 0);
    });
  });
});

describe('any other stream', () => {
  it('with events dropped, repeated, moved or changed is a valid answer or the beginning of one', () => {
    check(fc.tuple(damagedStream, anySizes), ([{ bytes, hasEnd }, sizes]) => {
      const { finished } = expectValidAnswer(bytes);
      if (!hasEnd) expect(finished).toBe(false);
      expectSameInPieces(bytes, sizes);
    });
  });

  it('with bytes changed or lost is a valid answer or the beginning of one', () => {
    check(fc.tuple(corruptedStream, anySizes), ([bytes, sizes]) => {
      expectValidAnswer(bytes);
      expectSameInPieces(bytes, sizes);
    });
  });

  it('of any JSON values under any names fails, and gives the client nothing', () => {
    const anyName = fc.constantFrom(
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
      'ping',
      'x',
    );
    const anyEvent = fc.tuple(anyName, fc.json()).map(([name, json]) => `event: ${name}\ndata: ${json}\n\n`);
    check(fc.array(anyEvent), (events) => {
      expect(expectValidAnswer(Buffer.from(events.join('')))).toMatchObject({ finished: false, text: '' });
    });
  });

  it('of any bytes fails, and gives the client nothing', () => {
    check(fc.uint8Array({ maxLength: 400, size: 'max' }), (bytes) => {
      expect(expectValidAnswer(Buffer.from(bytes))).toMatchObject({ finished: false, text: '' });
    });
  });
});

/**
 * Whatever the input: chunks in order, one end, consistent usage, and the same content in one
 * object.
 */
function expectValidAnswer(bytes: Buffer) {
  const replayed = streamed([bytes]);
  const answer = readStreamedAnswer(replayed.text);
  expect(replayed.failure === undefined).toBe(replayed.finished);
  expect(answer.finishReason !== undefined).toBe(replayed.finished);
  expect(replayed.hasContent).toBe(replayed.text !== '');
  const hasCalls = answer.deltas.some(({ kind }) => kind === 'call');
  if (answer.finishReason === 'tool_calls') expect(hasCalls).toBe(true);
  if (answer.finishReason === 'stop') expect(hasCalls).toBe(false);
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = replayed.reportedUsage ?? noUsage;
  expect(cachedTokens).toBeLessThanOrEqual(inputTokens ?? maxTokenCount);
  expect(reasoningTokens).toBeLessThanOrEqual(outputTokens ?? maxTokenCount);
  const { text: whole } = assembled([bytes]);
  if (replayed.finished) expect(readCompletion(whole)).toEqual(assemble(answer));
  else expect(whole).toBe('');
  return replayed;
}

const noUsage = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function expectSameInPieces(bytes: Buffer, sizes: readonly number[]): void {
  const pieces = inPiecesOf(sizes, bytes);
  expect(streamed(pieces)).toEqual(streamed([bytes]));
  expect(assembled(pieces)).toEqual(assembled([bytes]));
}

function streamed(pieces: readonly Uint8Array[]) {
  return replay(newReader(true), pieces);
}

function assembled(pieces: readonly Uint8Array[]) {
  return replay(newReader(false), pieces);
}

function newReader(stream: boolean) {
  const identity = { id: 'request-1', created: 1, model: 'claude-opus-4-8' };
  return new EventReader(createChatAnswer({ ...identity, stream, includeUsage: true }), readerOptions);
}

function check<Value>(values: fc.Arbitrary<Value>, holds: (value: Value) => void): void {
  fc.assert(fc.property(values, holds), { numRuns: 300 });
}
