import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStatements, repositoryRoot, titlesIn } from './test-references.ts';

const cases = readStatements('test-e2e/structure/format-cases.md').filter(({ references }) => references.length > 0);

/** The page, with each item of its lists on one line. */
const documented = readFileSync(join(repositoryRoot, 'docs/reference/formats.md'), 'utf8').replaceAll(
  /\n {2}(?=\S)/g,
  ' ',
);

describe('the edge cases of docs/reference/formats.md', () => {
  it('are all there', () => {
    expect(cases.length).toBeGreaterThanOrEqual(52);
  });

  it.each(cases)('are in the page in the same words: $text', ({ text }) => {
    expect(documented).toContain(`- ${text}\n`);
  });

  it.each(cases)('name tests that exist: $text', ({ references }) => {
    expect(references.filter((reference) => !isHeld(reference))).toEqual([]);
  });
});

function isHeld(reference: string): boolean {
  const [file = '', name = ''] = reference.split(' › ');
  return titlesIn(file).includes(name) || goldenNames(file).includes(name);
}

/** The cases of a golden test, in files beside it. */
function goldenNames(file: string): readonly string[] {
  const corpus = /^(services\/[\w-]+\/src\/format)\/golden-(answers|requests)\.test\.ts$/.exec(file);
  if (corpus === null) return [];
  const [, folder = '', what = ''] = corpus;
  const cases = join(repositoryRoot, folder, '__fixtures__', what);
  return globSync('*.json', { cwd: cases }).flatMap((topic) => namesIn(readFileSync(join(cases, topic), 'utf8')));
}

function namesIn(text: string): readonly string[] {
  const cases: readonly { readonly name: string }[] = JSON.parse(text);
  return cases.map(({ name }) => name);
}
