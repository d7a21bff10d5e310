import { maxTokenCount, readTokenCount, toReportedUsage } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalUsage, usageSoFar } from './frame-writer.ts';

const reported = { inputTokens: 33, cachedTokens: 5, outputTokens: 1, reasoningTokens: 0 };

const noWrites = { cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

describe('the usage of an answer', () => {
  it('is the word of the provider when the answer has ended', () => {
    expect(finalUsage({ reportedUsage: reported, producedCharacters: 400 }, 10)).toEqual({
      ...reported,
      ...noWrites,
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
      ...noWrites,
      estimated: true,
    });
  });

  it('has cache writes by their lifetime, for five minutes unless the provider says an hour', () => {
    const writes = { cacheCreationTokens: 20, cacheCreation1hTokens: 8 };
    const counts = { cacheWrite5mTokens: 12, cacheWrite1hTokens: 8 };
    const answer = { reportedUsage: { ...reported, ...writes }, producedCharacters: 0 };
    expect(finalUsage(answer, 10)).toMatchObject({ ...counts, inputTokens: 33, estimated: false });
    expect(usageSoFar(answer, 10)).toMatchObject({ ...counts, estimated: true });
    const older = { reportedUsage: { ...reported, cacheCreationTokens: 20 }, producedCharacters: 0 };
    expect(finalUsage(older, 10)).toMatchObject({ cacheWrite5mTokens: 20, cacheWrite1hTokens: 0 });
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
        fc.record({ cacheCreationTokens: count, cacheCreation1hTokens: count }),
        (input, cached, output, reasoning, produced, estimate, writes) => {
          const counts = { inputTokens: input, cachedTokens: cached, outputTokens: output, reasoningTokens: reasoning };
          const usual = toReportedUsage(counts);
          const answer = { reportedUsage: usual && { ...usual, ...writes }, producedCharacters: produced };
          for (const usage of [finalUsage(answer, estimate), usageSoFar(answer, estimate)]) {
            const { estimated, ...counts } = usage;
            for (const tokens of Object.values(counts)) expect(readTokenCount(tokens)).toBe(tokens);
            const { cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens } = usage;
            expect(cachedTokens + cacheWrite5mTokens + cacheWrite1hTokens).toBeLessThanOrEqual(usage.inputTokens);
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
