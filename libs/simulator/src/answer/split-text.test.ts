import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitText } from './split-text.ts';

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
