import { describe, expect, it } from 'vitest';
import { scriptsWithoutSentence } from './script-rules.ts';
import { violationText } from './source-tree.ts';

describe('a script of the root', () => {
  const problemsOf = (scripts: object, sentences: object) =>
    scriptsWithoutSentence(new Map([['package.json', JSON.stringify({ scripts, 'scripts-info': sentences })]])).map(
      violationText,
    );

  it('has a sentence that describes it', () => {
    expect(problemsOf({ test: 'vitest run' }, { test: 'Runs every test.' })).toEqual([]);
  });

  it.each([undefined, '', 'tests', 'Runs every test', 'Runs every test. Takes minutes.'])(
    'is not described by %j',
    (sentence) => {
      expect(problemsOf({ test: 'vitest run' }, { test: sentence })).toEqual([
        'package.json: test has no sentence in scripts-info',
      ]);
    },
  );

  it('is there if it is described', () => {
    expect(problemsOf({}, { test: 'Runs every test.' })).toEqual([
      'package.json: scripts-info describes test, which is no script',
    ]);
  });
});
