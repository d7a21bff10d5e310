import { describe, expect, it } from 'vitest';
import { filesTooLong, namesThatSayNothing } from './file-rules.ts';
import { madeUpTree } from './made-up-tree.ts';
import { violationText } from './source-tree.ts';

describe('names', () => {
  it.each([
    'libs/rpc/src/utils.ts',
    'libs/common/a.ts',
    'libs/rpc/src/helpers/a.ts',
    'libs/rpc/src/string-utils.test.ts',
  ])('such as %s say nothing', (path) => {
    expect(namesThatSayNothing(madeUpTree({}, { [path]: '' }))).toHaveLength(1);
  });

  it.each(['libs/rpc/src/read-body.ts', 'libs/rpc/src/commonmark.ts', 'libs/limits/src/replica-share.ts'])(
    'such as %s say something',
    (path) => {
      expect(namesThatSayNothing(madeUpTree({}, { [path]: '' }))).toEqual([]);
    },
  );
});

describe('the length of a source', () => {
  const lines = (count: number) => '// a line\n'.repeat(count);

  it('is 350 lines at most', () => {
    const tree = madeUpTree({}, { 'libs/rpc/src/a.ts': lines(350), 'libs/rpc/src/b.ts': lines(351) });
    expect(filesTooLong(tree).map(violationText)).toEqual(['libs/rpc/src/b.ts: has 351 lines; at most 350']);
  });

  it('is free for tests', () => {
    const tree = madeUpTree({}, { 'libs/rpc/src/a.test.ts': lines(900), 'test-e2e/suite/a.ts': lines(900) });
    expect(filesTooLong(tree)).toEqual([]);
  });
});
