import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxTokenCount, readTokenCount, toReportedUsage, wholeUsage } from './token-usage.ts';

describe('a count of tokens', () => {
  it.each([0, 1, 7e3, 2 ** 40])('is %j', (count) => {
    expect(readTokenCount(count)).toBe(count);
  });

  it.each([
    -1,
    0.5,
    2 ** 40 + 1,
    1e15,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '7',
    '',
    null,
    undefined,
    true,
    [7],
    { count: 7 },
    7n,
  ])('is not %s', (value) => {
    expect(readTokenCount(value)).toBeUndefined();
  });
});

describe('reported usage', () => {
  const count = fc.option(fc.oneof(fc.nat(100), fc.integer({ min: 0, max: maxTokenCount })), { nil: undefined });

  it('has no part that is more than its whole', () => {
    fc.assert(
      fc.property(count, count, count, count, (inputTokens, cachedTokens, outputTokens, reasoningTokens) => {
        const usage = toReportedUsage({ inputTokens, cachedTokens, outputTokens, reasoningTokens });
        expect(usage === undefined).toBe(!inputTokens && !outputTokens);
        if (usage === undefined) return;
        expect([usage.inputTokens, usage.outputTokens]).toEqual([inputTokens || undefined, outputTokens]);
        expect(usage.cachedTokens).toBeLessThanOrEqual(inputTokens || maxTokenCount);
        expect(usage.reasoningTokens).toBeLessThanOrEqual(outputTokens ?? maxTokenCount);
      }),
    );
  });

  const counts = { inputTokens: 5, cachedTokens: 2, outputTokens: 7, reasoningTokens: 1 };

  it('is whole only with input and output', () => {
    expect(wholeUsage(toReportedUsage(counts), 9)).toEqual(counts);
    expect(wholeUsage(toReportedUsage({ ...counts, inputTokens: undefined }), 9)).toBeUndefined();
    expect(wholeUsage(toReportedUsage({ ...counts, outputTokens: undefined }), 9)).toBeUndefined();
    expect(wholeUsage(undefined, 9)).toBeUndefined();
  });

  it('of no tokens at all is no count where there is something to be counted', () => {
    expect(wholeUsage(toReportedUsage({ ...counts, inputTokens: 0 }), 9)).toBeUndefined();
    const silent = toReportedUsage({ ...counts, outputTokens: 0 });
    expect(wholeUsage(silent, 9)).toBeUndefined();
    expect(wholeUsage(silent, 0)).toEqual({ ...counts, outputTokens: 0, reasoningTokens: 0 });
  });

  it('does not know a sum that is too large', () => {
    const usage = toReportedUsage({
      inputTokens: maxTokenCount + 1,
      cachedTokens: maxTokenCount,
      outputTokens: 1,
      reasoningTokens: undefined,
    });
    expect(usage).toMatchObject({ inputTokens: undefined, outputTokens: 1 });
  });
});
