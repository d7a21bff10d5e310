import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateOutputTokens } from './estimate-tokens.ts';

const bodyOf = (...contents: string[]) => Buffer.from(JSON.stringify({ contents }));

describe('an estimate of tokens', () => {
  it('is a quarter of the characters, rounded up', () => {
    expect([0, 1, 4, 5].map(estimateOutputTokens)).toEqual([0, 1, 1, 2]);
    expect(estimateInputTokens(Buffer.from('12345'))).toBe(2);
    expect(estimateInputTokens(bodyOf('word '.repeat(10_000)))).toBeGreaterThan(12_000);
  });

  it('counts an image as one, however large its file is', () => {
    const image = (bytes: number) => `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}`;
    const small = estimateInputTokens(bodyOf('look', image(10_000)));
    expect(small).toBeLessThan(2_000);
    expect(estimateInputTokens(bodyOf('look', image(1_000_000)))).toBe(small);
    expect(estimateInputTokens(bodyOf('look', image(10_000), image(10_000)))).toBeGreaterThan(small + 1_000);
  });
});
