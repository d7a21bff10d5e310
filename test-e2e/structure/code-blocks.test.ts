import { type CodeBlock, placeOf, readPages } from '@gateway/testkit/pages';
import { describe, expect, it } from 'vitest';
import { languageOf, missingReasons, strayOutputs } from '../docs/languages.ts';
import { repositoryRoot } from '../docs/page-folder.ts';
import { readBlock } from '../docs/read-block.ts';
import { typeProblems } from '../docs/type-problems.ts';

const pages = await readPages(repositoryRoot);
const blocks = pages.flatMap((page) => page.blocks);
const at = (block: CodeBlock, problems: readonly string[]) =>
  problems.map((problem) => `${placeOf(block)}: ${problem}`);

describe('every block of code on a page', () => {
  it('is found', () => {
    expect(blocks.length).toBeGreaterThan(80);
    expect(new Set(blocks.map(({ page }) => page))).toContain('README.md');
  });

  it('says how it is run, or why it is not', () => {
    expect(blocks.flatMap((block) => at(block, [...block.problems, ...missingReasons(block)]))).toEqual([]);
  });

  it('follows the command whose output it is', () => {
    expect(pages.flatMap((page) => strayOutputs(page.blocks)).map(placeOf)).toEqual([]);
  });

  it('has the syntax of its language, and gateway.yaml is valid', async () => {
    const problems = await Promise.all(blocks.map(async (block) => at(block, await readBlock(block))));
    expect(problems.flat()).toEqual([]);
  });

  it('fits the types of the packages that it imports', async () => {
    // The packages of the others are not installed: `npm run docs:clients` downloads them.
    const typescript = blocks.filter(
      (block) => languageOf(block).readAs === 'typescript' && block.attributes.clients !== true,
    );
    expect(typescript.length).toBeGreaterThan(0);
    expect(await typeProblems(typescript)).toEqual([]);
  });

  it.each([
    ['sh', 'if true; then'],
    ['python', 'for x in y\n    pass'],
    ['go', 'func main() {'],
    ['json', '{ a: 1 }'],
    ['toml', 'a = '],
    ['yaml', 'a: [1'],
    ['yaml', 'pools: { responses: { format: telepathy } }'],
    ['yaml', 'credential: { password: x }'],
  ])('would be found out with a mistake: %s %s', async (language, text) => {
    expect(await readBlock({ page: 'a.md', line: 1, language, attributes: {}, problems: [], text })).not.toEqual([]);
  });

  it('would be found out with a wrong type, at its line', async () => {
    const text = 'const a = 1;\nconst b: string = a;';
    const problems = await typeProblems([
      { page: 'a.md', line: 5, language: 'ts', attributes: {}, problems: [], text },
    ]);
    expect(problems).toEqual([expect.stringContaining('a.md:7: error TS2322')]);
  });
});
