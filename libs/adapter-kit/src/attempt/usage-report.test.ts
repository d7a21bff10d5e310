import { describe, expect, it } from 'vitest';
import { finalUsage, usageSoFar } from './usage-report.ts';

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
});
