import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BufferList } from './buffer-list.ts';

/**
 * Few distinct bytes, so that searches often find them. Some chunks are adjacent in one buffer,
 * others are not.
 */
const chunks = fc
  .array(fc.tuple(fc.array(fc.nat(3), { maxLength: 5 }), fc.boolean()), { maxLength: 8 })
  .map((drawn) => {
    const whole = Buffer.from(drawn.flatMap(([bytes]) => bytes));
    let end = 0;
    return drawn.map(([{ length }, isOwn]) => {
      end += length;
      const view = whole.subarray(end - length, end);
      return isOwn ? Buffer.from(view) : view;
    });
  });

describe('bytes in chunks', () => {
  it('read as if they were in one', () => {
    fc.assert(
      fc.property(chunks, fc.nat(45), fc.nat(45), fc.nat(3), (drawn, one, other, byte) => {
        const whole = Buffer.concat(drawn);
        const list = new BufferList(drawn);
        const [start, end] = [Math.min(one, other), Math.max(one, other)];
        expect(list.length).toBe(whole.length);
        expect(list.whole()).toEqual(whole);
        expect(list.slice(start, end)).toEqual(whole.subarray(start, end));
        expect(Buffer.concat(list.views(start, end))).toEqual(whole.subarray(start, end));
        expect(list.indexOf(byte, start)).toBe(whole.indexOf(byte, start));
        expect(list.lastIndexOf(byte, start)).toBe(whole.lastIndexOf(byte, start));
      }),
      { numRuns: 1_000 },
    );
  });

  it('are one chunk when they follow each other in one buffer', () => {
    const body = Buffer.from('{"model":"gpt"}');
    const list = new BufferList([body.subarray(0, 4), body.subarray(4, 9), body.subarray(9)]);
    expect(list.chunks).toHaveLength(1);
    expect(list.whole().buffer).toBe(body.buffer);
  });

  it('are not copied to be looked at', () => {
    const list = new BufferList([Buffer.from('first'), Buffer.from('second')]);
    expect(list.slice(0, 4).buffer).toBe(list.chunks[0]?.buffer);
    expect(list.views(2, 9).map(String)).toEqual(['rst', 'seco']);
  });
});
