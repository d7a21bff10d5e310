import { maxTokenCount } from '@gateway/chat';
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

  it.each([null, undefined, {}, [], 'none', { input_tokens: '7' }, { output_tokens: 1e15 }, { input_tokens: -1 }])(
    'reports nothing of %j',
    (usage) => {
      expect(convertUsage(usage)).toBeUndefined();
    },
  );

  it.each([-1, 0.5, '7', 1e15, 2 ** 40 + 1, Number.NaN, null])('does not know a count that is %j', (count) => {
    expect(convertUsage({ input_tokens: count, output_tokens: 9 })).toMatchObject({
      inputTokens: undefined,
      outputTokens: 9,
    });
    expect(convertUsage({ input_tokens: 9, output_tokens: count })).toMatchObject({
      inputTokens: 9,
      outputTokens: undefined,
    });
  });

  it('never has more cached than input or more reasoning than output, nor anything below zero', () => {
    const count = fc.oneof(
      fc.integer(),
      fc.maxSafeInteger(),
      fc.double(),
      fc.constant(null),
      fc.constant(undefined),
      fc.string(),
    );
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
        const counts = Object.values(converted).filter((count) => count !== undefined);
        expect(counts.every((count) => Number.isInteger(count) && count >= 0 && count <= maxTokenCount)).toBe(true);
        expect(converted.cachedTokens).toBeLessThanOrEqual(converted.inputTokens ?? maxTokenCount);
        expect(converted.reasoningTokens).toBeLessThanOrEqual(converted.outputTokens ?? maxTokenCount);
      }),
      { numRuns: 500 },
    );
  });
});
