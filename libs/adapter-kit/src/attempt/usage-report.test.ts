import { maxTokenCount, readTokenCount, toReportedUsage } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalUsage, usageSoFar } from './frame-writer.ts';

const reported = { inputTokens: 33, cachedTokens: 5, outputTokens: 1, reasoningTokens: 0 };

describe('the usage of an answer', () => {
  it('is the word of the provider when the answer has ended', () => {
    expect(finalUsage({ reportedUsage: reported, producedCharacters: 400 }, 10)).toEqual({
      ...reported,
      estimated: false,
    });
  });

  it('is an estimate when the provider gave none', () => {
    expect(finalUsage({ reportedUsage: undefined, producedCharacters: 400 }, 10)).toMatchObject({
      inputTokens: 10,
      estimated: true,
    });
  });

  it('is an estimate before the end, even where nothing more has been seen than the provider reported', () => {
    expect(usageSoFar({ reportedUsage: reported, producedCharacters: 0 }, 10)).toEqual({
      ...reported,
      estimated: true,
    });
  });

  it('is at least what has been seen', () => {
    const { outputTokens } = usageSoFar({ reportedUsage: reported, producedCharacters: 400 }, 10);
    expect(outputTokens).toBeGreaterThan(50);
  });

  it('has an estimate of what alone was not reported, and says so', () => {
    const noInput = finalUsage({ reportedUsage: { ...reported, inputTokens: undefined }, producedCharacters: 400 }, 10);
    expect(noInput).toMatchObject({ inputTokens: 10, cachedTokens: 5, estimated: true });
    const noOutput = finalUsage(
      { reportedUsage: { ...reported, outputTokens: undefined }, producedCharacters: 400 },
      10,
    );
    expect(noOutput).toMatchObject({ inputTokens: 33, outputTokens: 100, estimated: true });
  });

  it('is one that every counter takes, whatever a provider reports and produces', () => {
    const value = fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double(), fc.jsonValue(), fc.constant(2 ** 40));
    const count = value.map(readTokenCount);
    const size = fc.oneof(fc.nat(), fc.nat(Number.MAX_SAFE_INTEGER));
    fc.assert(
      fc.property(
        count,
        count,
        count,
        count,
        size,
        fc.nat(2 ** 28),
        (input, cached, output, reasoning, produced, estimate) => {
          const counts = { inputTokens: input, cachedTokens: cached, outputTokens: output, reasoningTokens: reasoning };
          const answer = { reportedUsage: toReportedUsage(counts), producedCharacters: produced };
          for (const usage of [finalUsage(answer, estimate), usageSoFar(answer, estimate)]) {
            const { estimated, ...counts } = usage;
            for (const tokens of Object.values(counts)) expect(readTokenCount(tokens)).toBe(tokens);
            expect(usage.cachedTokens).toBeLessThanOrEqual(usage.inputTokens);
            expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
            expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(2 * maxTokenCount);
          }
          const isReported = (input ?? 0) > 0 && output !== undefined && (output > 0 || produced === 0);
          expect(finalUsage(answer, estimate).estimated).toBe(!isReported);
        },
      ),
      { numRuns: 500 },
    );
  });
});
