import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertUsage } from './convert-usage.ts';

describe('convertUsage', () => {
  it('takes cached tokens as part of the input and reasoning as part of the output', () => {
    const usage = {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 64, cache_write_tokens: 12 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 40 },
      total_tokens: 150,
    };
    expect(convertUsage(usage)).toEqual({ inputTokens: 100, cachedTokens: 64, outputTokens: 50, reasoningTokens: 40 });
  });

  it.each([null, undefined, {}, [], 'none', { input_tokens: '7' }])('has nothing to tell of %j', (usage) => {
    expect(convertUsage(usage)).toBeUndefined();
  });

  it('never has more cached than input or more reasoning than output, nor anything below zero', () => {
    const count = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.constant(undefined), fc.string());
    const usage = fc.record({
      input_tokens: count,
      output_tokens: count,
      input_tokens_details: fc.oneof(fc.constant(null), fc.record({ cached_tokens: count })),
      output_tokens_details: fc.oneof(fc.constant(null), fc.record({ reasoning_tokens: count })),
    });
    fc.assert(
      fc.property(usage, (value) => {
        const converted = convertUsage(value);
        if (converted === undefined) return;
        expect(Object.values(converted).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0)).toBe(true);
        expect(converted.cachedTokens).toBeLessThanOrEqual(converted.inputTokens);
        expect(converted.reasoningTokens).toBeLessThanOrEqual(converted.outputTokens);
      }),
      { numRuns: 500 },
    );
  });
});
