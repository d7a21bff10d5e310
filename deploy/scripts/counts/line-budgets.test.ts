import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { budgetFor, isOverBudget, sizesOfPackages } from './line-budgets.ts';

describe('the size of packages', () => {
  it('is lines of source, beside the budget of the innermost folder', async () => {
    const root = await treeOf({
      'libs/sse/src/events.ts': 'a\nb\n',
      'services/admin/src/main.ts': 'a\n',
      'services/admin/console/src/app.tsx': 'a\nb\nc\n',
      'services/admin/console/src/app.css': 'a\n',
    });
    const budgets = { 'libs/sse': 2, 'services/admin': 0, 'services/admin/console': 10 };
    expect(await sizesOfPackages(root, budgets)).toEqual([
      { folder: 'libs/sse', files: 1, lines: 2, budget: 2 },
      { folder: 'services/admin', files: 1, lines: 1, budget: 0 },
      { folder: 'services/admin/console', files: 2, lines: 4, budget: 10 },
    ]);
  });

  it('leaves out tests, fixtures, test helpers and generated code', async () => {
    const root = await treeOf({
      'libs/sse/src/events.ts': 'a\n',
      'libs/sse/src/events.test.ts': 'a\n',
      'libs/sse/src/styles.d.ts': 'a\n',
      'libs/sse/src/testing/reader.ts': 'a\n',
      'libs/sse/src/__fixtures__/stream.ts': 'a\n',
      'libs/sse/test/events.ts': 'a\n',
      'libs/sse/gen/events.ts': 'a\n',
      'libs/sse/node_modules/events/index.js': 'a\n',
    });
    expect(await sizesOfPackages(root, { 'libs/sse': 1 })).toMatchObject([{ files: 1, lines: 1 }]);
  });

  it('names a package that the table lacks, which has no budget to keep', async () => {
    const root = await treeOf({ 'libs/sse/src/events.ts': 'a\n' });
    const sizes = await sizesOfPackages(root, {});
    expect(sizes).toEqual([{ folder: 'libs/sse', files: 1, lines: 1, budget: undefined }]);
    expect(sizes.map(isOverBudget)).toEqual([true]);
  });

  it('is not known of a folder without source', async () => {
    const root = await treeOf({ 'libs/sse/src/events.ts': 'a\n' });
    await expect(sizesOfPackages(root, { 'libs/sse': 1, 'libs/gone': 1 })).rejects.toThrow('libs/gone');
  });

  it.each([
    [99, false],
    [100, false],
    [101, true],
  ])('of %i lines with a budget of 100: over it is %s', (lines, over) => {
    expect(isOverBudget({ folder: 'libs/sse', files: 1, lines, budget: 100 })).toBe(over);
  });

  it.each([
    [62, 70],
    [100, 110],
    [4924, 5080],
  ])('of %i lines gets a budget of %i', (lines, budget) => {
    expect(budgetFor(lines)).toBe(budget);
  });
});

async function treeOf(files: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'line-budgets-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}
