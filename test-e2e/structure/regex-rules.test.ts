import { describe, expect, it } from 'vitest';
import { madeUpTree } from './made-up-tree.ts';
import { regexesMadeOfTexts, regexesThatBacktrack } from './regex-rules.ts';
import { violationText } from './source-tree.ts';

const problemsOf = (source: string, file = 'libs/rpc/src/a.ts') => {
  const tree = madeUpTree({}, { [file]: source });
  return [...regexesThatBacktrack(tree), ...regexesMadeOfTexts(tree)].map(violationText);
};

describe('a regular expression', () => {
  it.each([
    ['at many places of a run', String.raw`text.replace(/\/+$/, '')`],
    ['from many signs of a comment', String.raw`/(#.*\b(?:bearer|api_key)["']?\s*:)\s*(?!["']?\$\{)[^\s,}]+/g`],
    ['at two repetitions beside each other', String.raw`/^(.+?)\s*=\s*(\w+)$/`],
    ['at nested repetitions', String.raw`/^(\w+\s?)*$/`],
  ])('may not backtrack %s', (_where, source) => {
    expect(
      problemsOf(`export const a: unknown = ${source.startsWith('text') ? `((text: string) => ${source})` : source};`),
    ).toEqual([expect.stringMatching(/^libs\/rpc\/src\/a\.ts: \/.* backtracks on a text of many /)]);
  });

  it.each([String.raw`/(?<!\/)\/+$/`, `/^[a-z]+(?:-[a-z]+)*$/`, String.raw`/^\w{1,100}\s*=/`])(
    'may be such as %s',
    (source) => {
      expect(problemsOf(`const a = ${source};`)).toEqual([]);
    },
  );

  it('is also found in code for browsers, and ignored in tests', () => {
    const source = String.raw`export const A = () => <p>{'a'.replace(/\/+$/, '')}</p>;`;
    expect(problemsOf(source, 'services/admin/console/src/a.tsx')).toHaveLength(1);
    expect(problemsOf(source, 'services/admin/console/src/a.test.tsx')).toEqual([]);
  });

  it('is not made of texts while a program runs', () => {
    expect(problemsOf('export const made = (text: string) => new RegExp(text);')).toEqual([
      expect.stringMatching(/makes a regular expression of a text/),
    ]);
  });
});
