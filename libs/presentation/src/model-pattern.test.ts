import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesAnyPattern, matchesPattern } from './model-pattern.ts';

describe('a pattern of models', () => {
  it.each([
    ['gpt-5.5', 'gpt-5.5', true],
    ['gpt-5.5-mini', 'gpt-5.5', false],
    ['gpt-5x5', 'gpt-5.5', false],
    ['gpt-5.5-mini', 'gpt-*', true],
    ['gpt-5.5-mini', '*5*mini', true],
    ['gpt-5.5-mini', '**', true],
    ['gpt-', 'gpt-*', true],
    ['a-gpt-5', 'gpt-*', false],
    ['gpt-mini', 'gpt*-*mini', true],
    ['ab', 'ab*b', false],
    ['a\nb', 'a*b', true],
  ])('takes %s by %s: %s', (model, pattern, fits) => {
    expect(matchesPattern(model, pattern)).toBe(fits);
  });

  it('takes what a regular expression takes in which each star is any text', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 6 });
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1, maxLength: 4 }), (model, parts) => {
        const fits = new RegExp(`^${parts.map(RegExp.escape).join('.*')}$`, 's').test(model);
        expect(matchesPattern(model, parts.join('*'))).toBe(fits);
      }),
    );
  });

  it('is one of several that may match', () => {
    expect(matchesAnyPattern('o3', ['gpt-*', 'o3*'])).toBe(true);
    expect(matchesAnyPattern('o4', ['gpt-*', 'o3*'])).toBe(false);
    expect(matchesAnyPattern('o4', [])).toBe(false);
  });
});
