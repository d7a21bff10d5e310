import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { budgetFor, isOverBudget, type LineBudgets, type PackageSize, sizesOfPackages } from './line-budgets.ts';

// Prints the lines of source of each package beside its budget, and fails if one is over it. With
// `--update` it sets each budget to the package's lines and 3 % more.
//
//   npm run count:lines
//   npm run count:lines -- --update

const root = join(import.meta.dirname, '../../..');
const tablePath = join(import.meta.dirname, 'budgets.json');
const { values: options } = parseArgs({ options: { update: { type: 'boolean', default: false } } });
const table: { readonly lines: LineBudgets } = JSON.parse(await readFile(tablePath, 'utf8'));

const heading = ['files', 'lines', 'budget'].map((name) => name.padStart(8)).join('');
const sizes = await sizesOfPackages(root, table.lines);
if (options.update) await updateTable();
else print();

async function updateTable(): Promise<void> {
  const lines = Object.fromEntries(sizes.map((size) => [size.folder, budgetFor(size.lines)]));
  await writeFile(tablePath, `${JSON.stringify({ ...table, lines }, undefined, 2)}\n`);
}

function print(): void {
  const all = {
    folder: 'all',
    files: sumOf(sizes, 'files'),
    lines: sumOf(sizes, 'lines'),
    budget: sumOf(sizes, 'budget'),
  };
  process.stdout.write(`${['package'.padEnd(28) + heading, ...[...sizes, all].map(row)].join('\n')}\n`);
  const over = sizes.filter(isOverBudget);
  if (over.length === 0) return;
  const names = over.map(({ folder }) => folder).join(', ');
  process.stderr.write(
    `Over budget: ${names}. Make it smaller, or say in the commit why its budget in ${tablePath.slice(root.length + 1)} is larger.\n`,
  );
  process.exitCode = 1;
}

function row(size: PackageSize): string {
  const columns = [size.files, size.lines, size.budget ?? 'none'].map((column) => String(column).padStart(8));
  return size.folder.padEnd(28) + columns.join('') + (isOverBudget(size) ? '  over' : '');
}

function sumOf(packages: readonly PackageSize[], column: 'files' | 'lines' | 'budget'): number {
  return packages.reduce((sum, size) => sum + (size[column] ?? 0), 0);
}
