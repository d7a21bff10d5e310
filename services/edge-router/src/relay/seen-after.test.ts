import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SeenResponse } from '../errors/render-error.ts';
import { seenAfter } from './relay-answer.ts';

const response = {
  id: 'resp_1',
  object: 'response',
  created_at: 1_700_000_000,
  model: 'gpt-5.5',
  metadata: { id: 'x' },
};
const created = event({ type: 'response.created', sequence_number: 0, response });
const unseen = { id: undefined, createdAt: undefined, model: undefined, lastSequenceNumber: -1 };
const identity = { id: 'resp_1', createdAt: 1_700_000_000, model: 'gpt-5.5' };

describe('the progress of a Responses stream', () => {
  it('is nothing before the first event', () => {
    expect(seen()).toEqual({});
    expect(seen(': comment\n\n')).toEqual(unseen);
  });

  it('is the response and its number after response.created alone', () => {
    expect(seen(created)).toEqual({ ...identity, lastSequenceNumber: 0 });
  });

  it.each([
    ['\r\n', created.replaceAll('\n', '\r\n')],
    ['CR', created.replaceAll('\n', '\r')],
    ['a byte order mark', `\ufeff${created}`],
    ['several data lines', `event: x\n${JSON.stringify({ response }, null, 1).replaceAll(/^/gm, 'data: ')}\n\n`],
  ])('is read with %s', (_what, text) => {
    expect(seen(text)).toMatchObject(identity);
  });

  it('has the last number, wherever it stands in its event', () => {
    const first = event({ type: 'response.output_text.delta', sequence_number: 6, delta: 'a' });
    const last = event({ type: 'response.output_text.delta', delta: 'b', sequence_number: 7 });
    expect(seen(created, first, last).lastSequenceNumber).toBe(7);
    expect(seen(`${created}${last}: keep-alive\n\n`).lastSequenceNumber).toBe(7);
    expect(seen(created, last, event({ type: 'x' }), ': ping\n\n').lastSequenceNumber).toBe(7);
    expect(seen(last.replace('":7', '" : 7')).lastSequenceNumber).toBe(7);
  });

  it('has no number where no event has one', () => {
    expect(seen(created.replace('"sequence_number":0,', ''), event({ type: 'x', delta: 'a' }))).toEqual({
      ...identity,
      lastSequenceNumber: -1,
    });
  });

  it('does not take what the model writes for a number', () => {
    const delta = JSON.stringify({ sequence_number: 99 });
    expect(seen(created, event({ sequence_number: 3, delta }), event({ delta })).lastSequenceNumber).toBe(3);
    expect(seen(created, event({ sequence_number: 3, delta: 'sequence_number' })).lastSequenceNumber).toBe(3);
    expect(seen(created, event({ sequence_number: 4, key: 'sequence_number' })).lastSequenceNumber).toBe(4);
  });

  it('takes no number of a kind that can not be gone on from', () => {
    expect(seen(created, event({ sequence_number: 9_007_199_254_740_991 })).lastSequenceNumber).toBe(0);
    expect(seen(created, event({ sequence_number: -4 }), event({ sequence_number: '5' })).lastSequenceNumber).toBe(0);
  });

  it('is the same for any events in any frames', () => {
    const events = fc.array(fc.record({ delta: fc.string(), isNumbered: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(events, fc.infiniteStream(fc.boolean()), (deltas, joins) => {
        let last = 0;
        const frames = [created];
        for (const [index, { delta, isNumbered }] of deltas.entries()) {
          if (isNumbered) last = index + 1;
          const text = event({ type: 'd', ...(isNumbered ? { sequence_number: index + 1 } : {}), delta });
          if (joins.next().value) frames.push((frames.pop() ?? '') + text);
          else frames.push(text);
        }
        expect(seen(...frames)).toEqual({ ...identity, lastSequenceNumber: last });
      }),
    );
  });
});

function event(data: Readonly<Record<string, unknown>>): string {
  return `event: any\ndata: ${JSON.stringify(data)}\n\n`;
}

function seen(...frames: readonly string[]): SeenResponse {
  return (
    frames.reduce((before: SeenResponse | undefined, frame) => seenAfter(before, Buffer.from(frame)), undefined) ?? {}
  );
}
