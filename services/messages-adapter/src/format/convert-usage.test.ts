import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertUsage, nothingReported, readReportedUsage, replaceUsage } from './convert-usage.ts';

describe('usage', () => {
  it('adds cached input to the input', () => {
    const reported = {
      input_tokens: 4,
      cache_creation_input_tokens: 120,
      cache_read_input_tokens: 2_048,
      output_tokens: 7,
    };
    expect(convertUsage(readReportedUsage(reported))).toEqual({
      inputTokens: 2_172,
      cachedTokens: 2_048,
      outputTokens: 7,
      reasoningTokens: 0,
    });
  });

  it('is replaced by a later report, but not by what that leaves out', () => {
    const first = readReportedUsage({ input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 });
    const later = readReportedUsage({
      input_tokens: null,
      output_tokens: 30,
      output_tokens_details: { thinking_tokens: 20 },
    });
    expect(convertUsage(replaceUsage(first, later))).toEqual({
      inputTokens: 15,
      cachedTokens: 5,
      outputTokens: 30,
      reasoningTokens: 20,
    });
  });

  it.each([
    null,
    undefined,
    'x',
    {},
    { input_tokens: null },
    { input_tokens: -1 },
    { input_tokens: 0, output_tokens: 0 },
  ])('is not reported by %j', (usage) => {
    expect(convertUsage(replaceUsage(nothingReported, readReportedUsage(usage)))).toBeUndefined();
  });

  it('never has more cached than input, or more reasoning than output tokens', () => {
    const count = fc.option(fc.oneof(fc.nat(), fc.double(), fc.string()));
    const report = fc.record({
      input_tokens: count,
      cache_creation_input_tokens: count,
      cache_read_input_tokens: count,
      output_tokens: count,
      output_tokens_details: fc.option(fc.record({ thinking_tokens: count })),
    });
    fc.assert(
      fc.property(fc.array(report), (reports) => {
        const usage = convertUsage(reports.map(readReportedUsage).reduce(replaceUsage, nothingReported));
        if (usage === undefined) return;
        expect(usage.cachedTokens).toBeLessThanOrEqual(usage.inputTokens);
        expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
        expect(Object.values(usage).every((value) => Number.isInteger(value) && value >= 0)).toBe(true);
      }),
    );
  });
});
