import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readStatements, repositoryRoot, titlesIn } from './test-references.ts';

const folder = 'test-e2e/faults/pools';
const faults = readStatements('test-e2e/faults/README.md').filter(({ references }) => references.length > 0);

describe('the faults of test-e2e/faults/README.md', () => {
  it('are all there', () => {
    expect(faults.length).toBeGreaterThanOrEqual(26);
  });

  it.each(faults)('name tests that exist: $text', ({ references }) => {
    const isHeld = (reference: string) => {
      const [file = '', name = ''] = reference.split(' › ');
      return titlesIn(file).includes(name);
    };
    expect(references.filter((reference) => !isHeld(reference))).toEqual([]);
  });

  it('name every file that breaks something', () => {
    const breaking = readdirSync(join(repositoryRoot, folder)).filter(
      (file) => titlesIn(join(folder, file)).length > 0,
    );
    const named = faults.flatMap(({ references }) => references.map((reference) => reference.split(' › ')[0]));
    expect(breaking.filter((file) => !named.includes(`${folder}/${file}`))).toEqual([]);
  });
});
