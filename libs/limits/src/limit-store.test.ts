import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { comparedTokens, slicesOf } from './limit-store.ts';

describe('slices for a store', () => {
  it('are together all items, in order, each once, and none is empty or has more than 500', () => {
    const count = fc.oneof(fc.nat(2_500), fc.constantFrom(0, 1, 499, 500, 501, 1_000));
    fc.assert(
      fc.property(count, (items) => {
        const all = Array.from({ length: items }, (_, n) => n);
        const slices = [...slicesOf(all)];
        expect(slices.flat()).toEqual(all);
        expect(slices.map(({ length }) => length).filter((length) => length === 0 || length > 500)).toEqual([]);
        expect(slices).toHaveLength(Math.ceil(items / 500));
      }),
    );
  });
});

describe('a counter that is compared with the ledger', () => {
  const tokens = fc.nat(1_000);

  it('stays as it is within what may be true, and is else put to the nearest value that may', () => {
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (used, total, asked, unasked) => {
        const [least, most] = [total + asked, total + asked + unasked];
        const compared = comparedTokens(used, total, asked + unasked, unasked);
        expect(compared).toBeGreaterThanOrEqual(least);
        expect(compared).toBeLessThanOrEqual(most);
        if (used >= least && used <= most) expect(compared).toBe(used);
        else expect(compared).toBe(used < least ? least : most);
        expect(comparedTokens(undefined, total, asked + unasked, unasked)).toBe(most);
      }),
    );
  });
});
