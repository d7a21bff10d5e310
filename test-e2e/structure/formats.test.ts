import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readStatements, repositoryRoot, titlesIn } from './test-references.ts';

const cases = readStatements('test-e2e/structure/format-cases.md').filter(({ references }) => references.length > 0);

const documented = readFileSync(join(repositoryRoot, 'docs/reference/formats.md'), 'utf8');

describe('the edge cases of docs/reference/formats.md', () => {
  it('are all there', () => {
    expect(cases.length).toBeGreaterThanOrEqual(52);
  });

  it.each(cases)('stand there in the same words: $text', ({ text }) => {
    expect(documented).toContain(`- ${text}\n`);
  });

  it.each(cases)('name tests that exist: $text', async ({ references }) => {
    const missing: string[] = [];
    for (const reference of references) if (!(await isHeld(reference))) missing.push(reference);
    expect(missing).toEqual([]);
  });
});

async function isHeld(reference: string): Promise<boolean> {
  const [file = '', name = ''] = reference.split(' › ');
  return titlesIn(file).includes(name) || (await goldenNames(file)).includes(name);
}

/** The cases that a golden test goes through: a file of them stands beside it. */
async function goldenNames(file: string): Promise<readonly string[]> {
  const corpus = /^(services\/[\w-]+\/src\/format)\/golden-(answers|requests)\.test\.ts$/.exec(file);
  if (corpus === null) return [];
  const [, folder = '', what = ''] = corpus;
  const module: unknown = await import(
    pathToFileURL(join(repositoryRoot, folder, '__fixtures__', what, 'index.ts')).href
  );
  const listed = Object.values(module as object).find((value) => Array.isArray(value));
  return (listed as readonly { readonly name: string }[]).map(({ name }) => name);
}
