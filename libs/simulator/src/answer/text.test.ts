import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countTokens, cutToTokens, splitText } from './text.ts';

describe('splitText', () => {
  it('splits at word borders', () => {
    expect([...splitText('één  word\nand 🚀 ')]).toEqual(['één', '  word', '\nand', ' 🚀', ' ']);
  });

  it('splits what has no spaces, between characters', () => {
    expect([...splitText('🚀'.repeat(20))]).toEqual(['🚀'.repeat(16), '🚀'.repeat(4)]);
  });

  it('loses nothing: the deltas joined are the text, and each is whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        const deltas = [...splitText(text, 6)];
        expect(deltas.join('')).toBe(text);
        expect(deltas.map((delta) => Buffer.from(delta).toString())).toEqual(deltas);
      }),
    );
  });
});

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
