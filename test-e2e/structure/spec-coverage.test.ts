import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { contractCases } from '../contract/cases.ts';
import { needsFault, specCells } from '../contract/cells.ts';
import { coverageTable, readStatements, repositoryRoot, titlesIn } from './test-references.ts';

const source = 'test-e2e/structure/spec-statements.md';
const statements = readStatements(source);

describe('the statements of the specification', () => {
  it('have a test each', () => {
    expect(statements.length).toBeGreaterThan(80);
    expect(statements.filter(({ references }) => references.length === 0)).toEqual([]);
  });

  it.each(statements)('name tests that exist: $text', ({ references }) => {
    expect(references.filter((reference) => !isHeld(reference))).toEqual([]);
  });

  it('are the table of docs/reference/spec-coverage.md, which `npx vitest run --project structure -u` writes', async () => {
    await expect(coverageTable(source)).toMatchFileSnapshot(join(repositoryRoot, 'docs/reference/spec-coverage.md'));
  });

  it('name every cell of the contract', () => {
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

/** Cells that need a fault have tests of their own, for every route that has them. */
function isCased(route: string, cell: string): boolean {
  if (needsFault(cell)) return specCells[route]?.some((each) => each === cell) ?? false;
  return contractCases.some((contractCase) => contractCase.route === route && contractCase.cell === cell);
}
