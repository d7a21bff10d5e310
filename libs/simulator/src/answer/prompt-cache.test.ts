import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InputSegment } from './conversation.ts';
import { PromptCache } from './prompt-cache.ts';

describe('PromptCache', () => {
  it('reads what an earlier request of the same scope began with', () => {
    const cache = new PromptCache();
    expect(cache.use('a', segments('one', 'two'))).toEqual({ inputTokens: 20, cachedTokens: 0, cacheWriteTokens: 19 });
    expect(cache.use('a', segments('one', 'two', 'three'))).toMatchObject({ cachedTokens: 20, cacheWriteTokens: 9 });
    expect(cache.use('a', segments('one', 'other'))).toMatchObject({ cachedTokens: 10 });
    expect(cache.use('a', segments('two', 'one'))).toMatchObject({ cachedTokens: 0 });
    expect(cache.use('b', segments('one', 'two'))).toMatchObject({ cachedTokens: 0 });
  });

  it('remembers only up to the last cacheable segment', () => {
    const cache = new PromptCache();
    const marked = [...segments('one'), { content: 'two', tokens: 10, cacheable: false }];
    expect(cache.use('a', marked)).toEqual({ inputTokens: 20, cachedTokens: 0, cacheWriteTokens: 10 });
    expect(cache.use('a', marked)).toEqual({ inputTokens: 20, cachedTokens: 10, cacheWriteTokens: 0 });
    const unmarked = marked.map((segment) => ({ ...segment, cacheable: false }));
    expect(cache.use('a', unmarked)).toEqual({ inputTokens: 20, cachedTokens: 0, cacheWriteTokens: 0 });
  });

  it('never reports more than the input, and always reads at least one token anew', () => {
    const cache = new PromptCache();
    const segment = fc.record({ content: fc.constantFrom('x', 'y'), tokens: fc.nat(5), cacheable: fc.boolean() });
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 6 }), (input) => {
        const { inputTokens, cachedTokens, cacheWriteTokens } = cache.use('s', input);
        expect(Math.min(cachedTokens, cacheWriteTokens)).toBeGreaterThanOrEqual(0);
        expect(cachedTokens + cacheWriteTokens).toBeLessThanOrEqual(Math.max(0, inputTokens - 1));
      }),
    );
  });
});

function segments(...contents: readonly string[]): readonly InputSegment[] {
  return contents.map((content) => ({ content, tokens: 10, cacheable: true }));
}
