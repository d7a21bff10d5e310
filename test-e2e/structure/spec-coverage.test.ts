import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contractCases } from '../contract/cases.ts';
import { specCells } from '../contract/cells.ts';

const root = join(import.meta.dirname, '../..');

interface Statement {
  readonly text: string;
  readonly references: readonly string[];
}

const statements = readStatements(readFileSync(join(root, 'docs/spec-coverage.md'), 'utf8'));

describe('docs/spec-coverage.md', () => {
  it('names a test for every statement', () => {
    expect(statements.length).toBeGreaterThan(80);
    expect(statements.filter(({ references }) => references.length === 0)).toEqual([]);
  });

  it.each(statements)('names tests that exist: $text', ({ references }) => {
    expect(references.filter((reference) => !isHeld(reference))).toEqual([]);
  });

  it('names every cell of the contract', () => {
    const named = new Set(statements.flatMap(({ references }) => references));
    const cells = Object.entries(specCells).flatMap(([route, filled]) =>
      filled.map((cell) => `contract › ${route} › ${cell}`),
    );
    expect(cells.filter((cell) => !named.has(cell))).toEqual([]);
  });
});

/** A statement is an item of a list; the lines after it are references, each in backquotes. */
function readStatements(text: string): readonly Statement[] {
  return text
    .split(/^- /m)
    .slice(1)
    .map((item) => {
      const [first = '', ...lines] = item.split('\n');
      const references = lines.flatMap((line) => /^ {2}`(.+)`$/.exec(line)?.[1] ?? []);
      return { text: first, references };
    });
}

function isHeld(reference: string): boolean {
  const [file = '', name = '', cell = ''] = reference.split(' › ');
  if (file === 'contract') return isCased(name, cell);
  return /\.test\.ts$|^test-e2e\/behaviours\//.test(file) && titlesIn(file).includes(name);
}

/** `internal_error` has a test of its own, for every route that has the cell. */
function isCased(route: string, cell: string): boolean {
  if (cell === 'internal_error') return specCells[route]?.includes(cell) ?? false;
  return contractCases.some((contractCase) => contractCase.route === route && contractCase.cell === cell);
}

/** The titles of a file's tests and groups of tests. Empty for a file that is not there. */
function titlesIn(file: string): readonly string[] {
  try {
    const source = readFileSync(join(root, file), 'utf8');
    return [...source.matchAll(title)].map(([, one, other]) => one ?? other ?? '');
  } catch {
    return [];
  }
}

/** The first argument of `it(…)`, `describe(…)`, and of what `it.each(…)` gives. */
const title = /(?:\b(?:it|describe)|\))\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/g;
