import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesAnyPattern } from './model-pattern.ts';

describe('a model pattern', () => {
  it('takes "*" for any text, none included', () => {
    expect(matchesAnyPattern('gpt-5.5', ['gpt-*'])).toBe(true);
    expect(matchesAnyPattern('gpt-', ['gpt-*'])).toBe(true);
    expect(matchesAnyPattern('a-gpt-5', ['gpt-*'])).toBe(false);
    expect(matchesAnyPattern('o3', ['gpt-*', 'o3*'])).toBe(true);
    expect(matchesAnyPattern('gpt-5.5-mini', ['*-mini'])).toBe(true);
    expect(matchesAnyPattern('gpt-mini', ['gpt*-*mini'])).toBe(true);
    expect(matchesAnyPattern('gpt5', ['gpt.'])).toBe(false);
    expect(matchesAnyPattern('ab', ['ab*b'])).toBe(false);
  });

  it('agrees with the regular expression it stands for', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.'), maxLength: 8 });
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '*', '.'), maxLength: 6 });
    fc.assert(
      fc.property(text, pattern, (model, glob) => {
        const expression = glob.replaceAll('.', '\\.').replaceAll('*', '.*');
        expect(matchesAnyPattern(model, [glob])).toBe(new RegExp(`^${expression}$`).test(model));
      }),
    );
  });
});
