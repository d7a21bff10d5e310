import { describe, expect, it } from 'vitest';
import { formatChecks } from '../all-checks.ts';

describe('the checks of formats', () => {
  it('have names of their own, which begin with an endpoint or with http', () => {
    const names = formatChecks.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { name, endpoints } of formatChecks) {
      expect(name).toMatch(/^[a-z]+(-[a-z0-9]+)+$/);
      expect([...endpoints, 'http'].some((begin) => name.startsWith(`${begin}-`))).toBe(true);
    }
  });

  it('have a rule in one sentence, and the address of its source', () => {
    for (const { rule, source } of formatChecks) {
      expect(rule).toMatch(/^[A-Z`].*[^.]\.$/);
      expect(URL.canParse(source) && new URL(source).protocol).toBe('https:');
    }
  });
});
