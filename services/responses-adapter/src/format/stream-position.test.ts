import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newRelayReader } from './__fixtures__/replay.ts';

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  model: 'gpt-5.5',
  metadata: { id: 'x' },
};
const created = event({ type: 'response.created', sequence_number: 0, response });
const identity = { answerId: 'resp_1', createdAt: 1_700_000_000, answeringModel: 'gpt-5.5' };
const nameless = { answerId: undefined, createdAt: undefined, answeringModel: undefined };

describe('the position in a relayed stream', () => {
  it('is nothing before the first event', () => {
    expect(after()).toEqual({ ...nameless, nextSequenceNumber: 0 });
    expect(after(': comment\n\n')).toEqual({ ...nameless, nextSequenceNumber: 0 });
  });

  it('is the response and its number after response.created alone', () => {
    expect(after(created)).toEqual({ ...identity, nextSequenceNumber: 1 });
  });

  it.each([
    ['\r\n', created.replaceAll('\n', '\r\n')],
    ['CR', created.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${created}`],
    [
      'several data lines',
      `event: response.created\n${JSON.stringify({ response }, null, 1).replaceAll(/^/gm, 'data: ')}\n\n`,
    ],
  ])('is read with %s', (_what, text) => {
    // A lone CR ends a line once the next byte shows that no LF follows.
    expect(after(text, ': ping')).toMatchObject(identity);
  });

  it('follows the last number, wherever it stands in its event', () => {
    const first = event({ type: 'response.output_text.delta', sequence_number: 6, delta: 'a' });
    const last = event({ type: 'response.output_text.delta', delta: 'b', sequence_number: 7 });
    expect(after(created, first, last).nextSequenceNumber).toBe(8);
    expect(after(`${created}${last}: keep-alive\n\n`).nextSequenceNumber).toBe(8);
    expect(after(created, last, event({ type: 'x' }), ': ping\n\n').nextSequenceNumber).toBe(8);
    expect(after(last.replace('":7', '" : 7')).nextSequenceNumber).toBe(8);
  });

  it('has no number where no event has one', () => {
    expect(after(created.replace('"sequence_number":0,', ''), event({ type: 'x', delta: 'a' }))).toEqual({
      ...identity,
      nextSequenceNumber: 0,
    });
  });

  it('does not take what the model writes for a number', () => {
    const delta = JSON.stringify({ sequence_number: 99 });
    expect(after(created, event({ sequence_number: 3, delta }), event({ delta })).nextSequenceNumber).toBe(4);
    expect(after(created, event({ sequence_number: 3, delta: 'sequence_number' })).nextSequenceNumber).toBe(4);
    expect(after(created, event({ sequence_number: 4, key: 'sequence_number' })).nextSequenceNumber).toBe(5);
  });

  it('takes no number of a kind that cannot be gone on from', () => {
    for (const sequence_number of [9_007_199_254_740_991, 2 ** 32 - 1, -4, 0.5, '5', null]) {
      expect(after(created, event({ sequence_number })).nextSequenceNumber).toBe(1);
    }
  });

  it('does not count an error that is held back', () => {
    const content = event({ type: 'response.output_text.delta', sequence_number: 6, delta: 'a' });
    expect(after(created, content, event({ type: 'error', sequence_number: 7 })).nextSequenceNumber).toBe(7);
  });

  it('is the same for any events in any pieces', () => {
    const events = fc.array(fc.record({ delta: fc.string(), isNumbered: fc.boolean() }), {
      maxLength: 20,
      size: 'max',
    });
    fc.assert(
      fc.property(events, fc.infiniteStream(fc.boolean()), (deltas, joins) => {
        let last = 0;
        const pieces = [created];
        for (const [index, { delta, isNumbered }] of deltas.entries()) {
          if (isNumbered) last = index + 1;
          const text = event({ type: 'd', ...(isNumbered ? { sequence_number: index + 1 } : {}), delta });
          if (joins.next().value) pieces.push((pieces.pop() ?? '') + text);
          else pieces.push(text);
        }
        expect(after(...pieces)).toEqual({ ...identity, nextSequenceNumber: last + 1 });
      }),
    );
  });
});

function event(data: Readonly<Record<string, unknown>>): string {
  return `event: any\ndata: ${JSON.stringify(data)}\n\n`;
}

/** What the reader knows of the response after these bytes. */
function after(...pieces: readonly string[]) {
  const reader = newRelayReader();
  for (const piece of pieces) reader.push(Buffer.from(piece));
  const { answerId, createdAt, answeringModel, nextSequenceNumber } = reader;
  return { answerId, createdAt, answeringModel, nextSequenceNumber };
}
