import { describe, expect, it } from 'vitest';
import { violationText } from './source-tree.ts';
import { testScriptsOtherThanTests } from './test-script-rules.ts';

describe('the script "test" of a package', () => {
  const problemsOf = (folder: string, script: string | undefined, ...files: readonly string[]) => {
    const manifest = JSON.stringify({ name: '@gateway/a', ...(script !== undefined && { scripts: { test: script } }) });
    const tree = new Map([[`${folder}/package.json`, manifest], ...files.map((path) => [path, ''] as const)]);
    return testScriptsOtherThanTests(tree).map(violationText);
  };
  const own = 'vitest run --root ../.. --project unit libs/a/';

  it.each([
    ['libs/a', own, 'libs/a/src/b/c.test.ts'],
    ['libs/a', `${own}src/`, 'libs/a/src/c.test.ts'],
    [
      'services/admin/console',
      own.replace('libs/a', 'services/admin/console').replace('../..', '../../..'),
      'services/admin/console/src/a.test.tsx',
    ],
    ['libs/a', undefined, 'libs/a/src/c.ts'],
    ['libs/a', undefined, 'libs/a/test/c.test.ts'],
    ['test-e2e', undefined, 'test-e2e/suite/c.test.ts'],
  ])('is right for %s with %s and %s', (folder, script, file) => {
    expect(problemsOf(folder, script, file)).toEqual([]);
  });

  it.each([undefined, own.replace('libs/a', 'libs/b'), 'true'])(
    'runs the unit tests that there are, as %s does not',
    (script) => {
      expect(problemsOf('libs/a', script, 'libs/a/src/c.test.ts')).toEqual([
        `libs/a/package.json: has unit tests, so its script test is "${own}"`,
      ]);
    },
  );

  it('is not there without unit tests: it would fail for want of them', () => {
    expect(problemsOf('libs/a', own)).toEqual(['libs/a/package.json: has the script test, and no unit tests']);
  });
});
