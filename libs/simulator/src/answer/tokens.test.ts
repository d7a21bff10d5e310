import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTokens, cutToTokens } from './tokens.ts';

describe('the token rule', () => {
  it('counts one token for every four bytes of UTF-8, rounded up', () => {
    expect(['', 'abcd', 'abcde', '🚀', '日本'].map(countTokens)).toEqual([0, 1, 2, 1, 2]);
  });

  it('cuts to at most so many tokens, and never a character in two', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, tokens) => {
        const cut = cutToTokens(text, tokens);
        const next = Array.from(text.slice(cut.length))[0] ?? '';
        expect(text.startsWith(cut)).toBe(true);
        expect(countTokens(cut)).toBeLessThanOrEqual(tokens);
        expect(next === '' || Buffer.byteLength(cut + next) > tokens * 4).toBe(true);
        expect(Buffer.from(cut).toString()).toBe(cut);
      }),
    );
  });
});
