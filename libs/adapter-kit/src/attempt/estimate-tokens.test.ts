import { BufferList } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateInputTokens, estimateOutputTokens } from './estimate-tokens.ts';

const bodyOf = (...contents: string[]) => new BufferList([Buffer.from(JSON.stringify({ contents }))]);

describe('an estimate of tokens', () => {
  it('is a quarter of the characters, rounded up', async () => {
    expect([0, 1, 4, 5].map(estimateOutputTokens)).toEqual([0, 1, 1, 2]);
    expect(await estimateInputTokens(new BufferList([Buffer.from('12345')]))).toBe(2);
    expect(await estimateInputTokens(bodyOf('word '.repeat(10_000)))).toBeGreaterThan(12_000);
  });

  it('counts an image as one, however large its file is', async () => {
    const image = (bytes: number) => `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}`;
    const small = await estimateInputTokens(bodyOf('look', image(10_000)));
    expect(small).toBeLessThan(2_000);
    expect(await estimateInputTokens(bodyOf('look', image(1_000_000)))).toBe(small);
    expect(await estimateInputTokens(bodyOf('look', image(10_000), image(10_000)))).toBeGreaterThan(small + 1_000);
  });

  it('finds every long text without a space, wherever it stands', async () => {
    const lengths = fc.oneof(fc.nat(10), fc.integer({ min: 4_000, max: 4_200 }), fc.nat(20_000));
    const text = fc.tuple(lengths, fc.boolean()).map(([length, isProse]) => (isProse ? ' ' : 'x').repeat(length));
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { maxLength: 8 }),
        fc.integer({ min: 100, max: 30_000 }),
        async (texts, pieceBytes) => {
          const body = new BufferList(piecesOf(texts.join('"'), pieceBytes));
          const blobs = body.length < 4_096 ? [] : texts.filter((each) => each.length >= 4_096 && each.startsWith('x'));
          const prose = body.length - blobs.join('').length;
          expect(await estimateInputTokens(body)).toBe(Math.ceil(prose / 4) + 1_500 * blobs.length);
        },
      ),
    );
  });
});

function piecesOf(text: string, bytes: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(text.length / bytes) }, (_, index) =>
    Uint8Array.from(Buffer.from(text.slice(index * bytes, (index + 1) * bytes))),
  );
}
