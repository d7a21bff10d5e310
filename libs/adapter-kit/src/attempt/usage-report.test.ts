import { fitPasses, maxTokenCount, readTokenCount, toReportedUsage, type UsagePass } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finalUsage, usageSoFar } from './usage-report.ts';

const reported = { inputTokens: 33, cachedTokens: 5, outputTokens: 1, reasoningTokens: 0 };

const noWrites = { cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

describe('the usage of an answer', () => {
  it('is the word of the provider when the answer has ended', () => {
    expect(finalUsage({ reportedUsage: reported, producedCharacters: 400 }, 10)).toEqual({
      ...reported,
      ...noWrites,
      ...{ estimated: false, parts: [] },
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
      ...{ estimated: true, parts: [] },
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

  it('has every pass that is billed beside it, and the parts by which it is priced', () => {
    const compaction = passOf({ kind: 'compaction', inputTokens: 180_000, cachedTokens: 7, outputTokens: 3_500 });
    const advisor = passOf({ kind: 'advisor_message', model: 'm', inputTokens: 1, cacheWrite1hTokens: 1 });
    const billing = { ...plainBilling, speed: 'fast', passes: [compaction, advisor] };
    const answer = { reportedUsage: { ...reported, billing }, producedCharacters: 0 };
    const sums = { inputTokens: 180_034, cachedTokens: 12, cacheWrite1hTokens: 1, outputTokens: 3_501 };
    expect(finalUsage(answer, 10)).toMatchObject({ ...sums, estimated: false });
    expect(usageSoFar(answer, 10)).toMatchObject({ ...sums, estimated: true });
    const served = { speed: 'fast' };
    const own = { kind: '', model: '', inputTokens: 33, outputTokens: 1, ...served };
    expect(finalUsage(answer, 10).parts).toMatchObject([own, { ...compaction, ...served }, { ...advisor, ...served }]);
  });

  it('is a pass alone if the answer has no words of its own', () => {
    const passes = [passOf({ inputTokens: 500, outputTokens: 20 })];
    const nothing = { inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };
    const reportedUsage = { ...nothing, billing: { ...plainBilling, passes } };
    const usageOf = (producedCharacters: number) => finalUsage({ reportedUsage, producedCharacters }, 10);
    expect(usageOf(0)).toMatchObject({ inputTokens: 500, outputTokens: 20, estimated: false });
    expect(usageOf(400)).toMatchObject({ inputTokens: 510, outputTokens: 120, estimated: true });
  });

  it('has the input of the answer itself as an estimate if only that of passes is known', () => {
    const passes = [passOf({ inputTokens: 500, outputTokens: 20 })];
    const reportedUsage = { ...reported, inputTokens: undefined, billing: { ...plainBilling, passes } };
    const usage = finalUsage({ reportedUsage, producedCharacters: 0 }, 10);
    expect(usage).toMatchObject({ inputTokens: 510, outputTokens: 21, estimated: true });
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
        fc.option(fc.array(anyPass), { nil: undefined }),
        (input, cached, output, reasoning, produced, estimate, writes, passes) => {
          const counts = { inputTokens: input, cachedTokens: cached, outputTokens: output, reasoningTokens: reasoning };
          const usual = toReportedUsage(counts);
          const billing = passes && { ...plainBilling, ...fitPasses(passes, usual) };
          const answer = { reportedUsage: usual && { ...usual, ...writes, billing }, producedCharacters: produced };
          for (const usage of [finalUsage(answer, estimate), usageSoFar(answer, estimate)]) {
            const { estimated, parts, ...counts } = usage;
            for (const name of sumNames) {
              const sum = parts.reduce((total, part) => total + part[name], 0);
              expect(sum).toBe(usual === undefined || passes === undefined ? 0 : usage[name]);
            }
            for (const tokens of Object.values(counts)) expect(readTokenCount(tokens)).toBe(tokens);
            const { cachedTokens, cacheWrite5mTokens, cacheWrite1hTokens } = usage;
            expect(cachedTokens + cacheWrite5mTokens + cacheWrite1hTokens).toBeLessThanOrEqual(usage.inputTokens);
            expect(usage.reasoningTokens).toBeLessThanOrEqual(usage.outputTokens);
            expect(usage.inputTokens + usage.outputTokens).toBeLessThanOrEqual(2 * maxTokenCount);
          }
          const isReported = (input ?? 0) > 0 && output !== undefined && (output > 0 || produced === 0);
          expect(finalUsage(answer, estimate).estimated).toBe(!isReported || (billing?.isIncomplete ?? false));
        },
      ),
      { numRuns: 500 },
    );
  });
});

const sumNames = [
  'inputTokens',
  'cachedTokens',
  'cacheWrite5mTokens',
  'cacheWrite1hTokens',
  'outputTokens',
] as const satisfies readonly (keyof UsagePass)[];

const noPass = { inputTokens: 0, cachedTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 0 };
const passOf = (given: Partial<UsagePass>): UsagePass => ({ kind: 'other', model: '', ...noPass, ...given });
const plainBilling = {
  model: '',
  serviceTier: '',
  speed: '',
  geography: '',
  toolCalls: [],
  passes: [],
  isIncomplete: false,
};

const anyCount = fc.oneof(fc.nat(1_000), fc.nat(maxTokenCount));
const anyPass = fc
  .record({
    kind: fc.constantFrom('compaction', 'x'),
    input: anyCount,
    cached: anyCount,
    hour: anyCount,
    output: anyCount,
  })
  .map(({ kind, input, cached, hour, output }) => {
    const cachedTokens = Math.min(cached, input);
    const cacheWrite1hTokens = Math.min(hour, input - cachedTokens);
    return passOf({ kind, inputTokens: input, cachedTokens, cacheWrite1hTokens, outputTokens: output });
  });
