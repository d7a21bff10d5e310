import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unclearProse } from './prose-rules.ts';
import { violationText } from './source-tree.ts';
import { repositoryRoot } from './test-references.ts';

/** Pages that programs write from other files, and pages that quote the phrases. */
const leftOut: ReadonlySet<string> = new Set(['docs/develop/writing.md']);

const pages = globSync(
  ['*.md', 'docs/**/*.md', 'docs/.vitepress/*.md', '{libs,services,test-e2e,deploy}/**/README.md'],
  {
    cwd: repositoryRoot,
    exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path),
  },
).filter((page) => !leftOut.has(page));

const problemsIn = (text: string) => unclearProse('a.md', text).map(violationText);

describe('prose', () => {
  it('of every page follows docs/develop/writing.md', () => {
    expect(pages.length).toBeGreaterThan(110);
    const problems = pages.flatMap((page) => unclearProse(page, readFileSync(join(repositoryRoot, page), 'utf8')));
    expect(problems.map(violationText)).toEqual([]);
  });

  it('has no phrase of the list, also in headings and tables', () => {
    expect(problemsIn('It can not\nbe read.')).toEqual(['a.md:1: says "can not"; write "cannot" or "can\'t"']);
    expect(problemsIn('# Nobody answers')).toHaveLength(1);
    expect(problemsIn('| a | b |\n| --- | --- |\n| c | it mends itself |')).toEqual([
      expect.stringContaining('a.md:3'),
    ]);
    expect(problemsIn('It stops. Of several the first one counts.')).toHaveLength(1);
  });

  it('has short sentences', () => {
    const words = (count: number) => `${'word\n'.repeat(count - 1)}word.`;
    expect(problemsIn(`${words(35)} Yes.`)).toEqual([]);
    expect(problemsIn(`- First.\n- ${words(36)}`)).toEqual([expect.stringContaining('a.md:2')]);
  });

  it("has short lines, except for words that can't be broken", () => {
    expect(problemsIn(`A ${'b'.repeat(118)}`)).toEqual([]);
    expect(problemsIn(`A b ${'c'.repeat(117)}`)).toEqual(['a.md:1: has 121 characters; at most 120']);
    expect(problemsIn('d'.repeat(200))).toEqual([]);
    expect(problemsIn(`- \`${'code '.repeat(40)}\``)).toEqual([]);
  });

  it('ignores the addresses of links by reference', () => {
    const addresses = Array.from({ length: 40 }, (_, number) => `[${number}]: https://example.com/${number}`);
    expect(problemsIn(addresses.join('\n'))).toEqual([]);
    expect(problemsIn('[1]: https://example.com\nIt can not be read.')).toHaveLength(1);
  });

  it('ignores code and front matter', () => {
    expect(problemsIn('---\ntitle: nobody\n---\n\n```text\nnobody\n```\n\nSay `nobody`.')).toEqual([]);
  });
});
