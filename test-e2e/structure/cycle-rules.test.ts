import { describe, expect, it } from 'vitest';
import { cyclesAmongFiles } from './cycle-rules.ts';
import { importing, madeUpTree } from './made-up-tree.ts';
import { readSourceTree, violationText } from './source-tree.ts';

const check = (files: Readonly<Record<string, string>>) => cyclesAmongFiles(madeUpTree({}, files)).map(violationText);
const [a, b, c] = ['services/limiter/src/a.ts', 'services/limiter/src/b.ts', 'services/limiter/src/store/c.ts'];

describe('the imports of files', () => {
  it('may meet in one file', () => {
    expect(
      check({ [a]: importing('./b.ts') + importing('./store/c.ts'), [b]: importing('./store/c.ts'), [c]: '' }),
    ).toEqual([]);
  });

  it('never come back, not even for a type', () => {
    const back = importing('../a.ts').replace('import', 'import type');
    expect(check({ [a]: importing('./b.ts'), [b]: importing('./store/c.ts'), [c]: back })).toEqual([
      `${a}: imports itself: ${a} → ${b} → ${c} → ${a}`,
    ]);
  });

  it('of tests may: nothing imports a test', () => {
    expect(check({ 'services/limiter/src/a.test.ts': importing('./a.test.ts') })).toEqual([]);
  });

  it('go one way in this repository', async () => {
    const found = cyclesAmongFiles(await readSourceTree(new URL('../..', import.meta.url).pathname));
    expect(found.map(violationText)).toEqual([]);
  });
});
