import { describe, expect, it } from 'vitest';
import { blocksIn, placeOf } from './pages.ts';

const fence = '```';

describe('the blocks of a page', () => {
  it('are found wherever they stand, with their lines', () => {
    const blocks = blocksIn(
      'docs/a.md',
      [
        '---',
        'title: A',
        '---',
        '',
        `${fence}sh`,
        'ls',
        fence,
        '',
        '- one:',
        `  ${fence}ts`,
        '  a();',
        '  b();',
        `  ${fence}`,
        '',
        '> ~~~yaml',
        '> a: 1',
        '> ~~~',
      ].join('\n'),
    );
    expect(blocks.map((block) => [placeOf(block), block.language, block.text])).toEqual([
      ['docs/a.md:5', 'sh', 'ls'],
      ['docs/a.md:10', 'ts', 'a();\nb();'],
      ['docs/a.md:15', 'yaml', 'a: 1'],
    ]);
  });

  it('are no lines that only look like fences', () => {
    const markdown = ['~~~text', fence, '~~~', '', `Inline ${fence}sh${fence} is none.`].join('\n');
    expect(blocksIn('a.md', markdown).map(({ text }) => text)).toEqual([fence]);
  });

  it('say behind their language how they are run', () => {
    const [one, two, three] = blocksIn(
      'a.md',
      [
        `${fence}sh no-run="needs a cluster"`,
        fence,
        `${fence}ts file="hello.ts" fails`,
        fence,
        `${fence}text output`,
        fence,
      ].join('\n'),
    );
    expect(one?.attributes).toEqual({ noRun: 'needs a cluster' });
    expect(two?.attributes).toEqual({ file: 'hello.ts', fails: true });
    expect(three?.attributes).toEqual({ output: true });
    expect([one, two, three].flatMap((block) => block?.problems ?? [])).toEqual([]);
  });

  it.each([
    'norun="needs a cluster"',
    'no-run',
    'no-run=""',
    'no-run="because"',
    'no-run=needs',
    'file',
    'output="x"',
    '"',
  ])('have a problem when nothing like %s is known', (words) => {
    expect(blocksIn('a.md', `${fence}sh ${words}\n${fence}`)[0]?.problems).not.toEqual([]);
  });
});
