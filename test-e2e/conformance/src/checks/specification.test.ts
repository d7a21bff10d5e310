import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { allChecks } from '../all-checks.ts';

const statements = readFileSync(join(import.meta.dirname, '../../../structure/spec-statements.md'), 'utf8');

describe('the checks of all levels', () => {
  it('have names of their own', () => {
    const names = allChecks.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
  });
});

describe('the checks of the specification', () => {
  it('each name a statement under its heading, and begin with spec', () => {
    for (const { name, source } of allChecks.filter(({ level }) => level === 'specification')) {
      expect(name).toMatch(/^spec-[a-z0-9-]+$/);
      const [, heading, text] = /^spec-coverage\.md, ([^:]+): (.*)$/s.exec(source) ?? [];
      if (heading === undefined) expect(source).toMatch(/^openapi\.yaml, /);
      else expect(sectionOf(heading), name).toContain(`\n- ${text}\n`);
    }
  });
});

function sectionOf(heading: string): string {
  return statements.split('\n## ').find((section) => section.startsWith(`${heading}\n`)) ?? '';
}
