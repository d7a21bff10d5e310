import { describe, expect, it } from 'vitest';
import { contractCases } from '../contract/cases.ts';
import { specCells } from '../contract/cells.ts';
import { readStatements, titlesIn } from './test-references.ts';

const statements = readStatements('docs/spec-coverage.md');

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
