import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PiecedBytes } from './buffer-list.ts';

/** Few different bytes, so that they are often found. Some pieces lie side by side in one buffer, others do not. */
const pieces = fc
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
      fc.property(pieces, fc.nat(45), fc.nat(45), fc.nat(3), (drawn, one, other, byte) => {
        const whole = Buffer.concat(drawn);
        const pieced = new PiecedBytes(drawn);
        const [start, end] = [Math.min(one, other), Math.max(one, other)];
        expect(pieced.length).toBe(whole.length);
        expect(pieced.whole()).toEqual(whole);
        expect(pieced.slice(start, end)).toEqual(whole.subarray(start, end));
        expect(Buffer.concat(pieced.views(start, end))).toEqual(whole.subarray(start, end));
        expect(pieced.indexOf(byte, start)).toBe(whole.indexOf(byte, start));
        expect(pieced.lastIndexOf(byte, start)).toBe(whole.lastIndexOf(byte, start));
      }),
      { numRuns: 1_000 },
    );
  });

  it('are one chunk when they follow each other in one buffer', () => {
    const body = Buffer.from('{"model":"gpt"}');
    const pieced = new PiecedBytes([body.subarray(0, 4), body.subarray(4, 9), body.subarray(9)]);
    expect(pieced.pieces).toHaveLength(1);
    expect(pieced.whole().buffer).toBe(body.buffer);
  });

  it('are not copied to be looked at', () => {
    const pieced = new PiecedBytes([Buffer.from('first'), Buffer.from('second')]);
    expect(pieced.slice(0, 4).buffer).toBe(pieced.pieces[0]?.buffer);
    expect(pieced.views(2, 9).map(String)).toEqual(['rst', 'seco']);
  });
});
