import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unclearComments } from './comment-rules.ts';
import { violationText } from './source-tree.ts';
import { repositoryRoot } from './test-references.ts';

const sources = globSync(['*.ts', '{libs,services,test-e2e,deploy,docs}/**/*.{ts,tsx}'], {
  cwd: repositoryRoot,
  exclude: (path) => /(^|\/)(node_modules|dist|data|gen)(\/|$)/.test(path),
});

const problemsIn = (source: string) => unclearComments('a.tsx', source).map(violationText);

describe('comments', () => {
  it('of every source follow docs/develop/writing.md', () => {
    expect(sources.length).toBeGreaterThan(1_000);
    const problems = sources.flatMap((file) => unclearComments(file, readFileSync(join(repositoryRoot, file), 'utf8')));
    expect(problems.map(violationText)).toEqual([]);
  });

  it.each([
    ['a docstring', '/** It mends itself. */\nconst a = 1;', 1],
    ['a docstring of several lines', 'const a = 1;\n/**\n * It can\n * not be read.\n */', 2],
    ['line comments below each other', '\n\n// It can\n// not be read.', 3],
    ['the end of a line', 'const a = 1; // Nobody reads it.', 1],
    ['JSX', 'const a = <b>{/* Nobody reads it. */}</b>;', 1],
  ])('have no phrase of the list: %s', (_, source, line) => {
    expect(problemsIn(source)).toEqual([expect.stringMatching(`^a.tsx:${line}: says ".*"; write `)]);
  });

  it.each([
    ['a docstring', `/** A ${'b'.repeat(100)} */`, 1],
    ['a line of a docstring', `/**\n * A\n * b ${'c'.repeat(100)}\n */`, 3],
    ['a line comment', `\n// A ${'b'.repeat(100)}`, 2],
    ['a comment behind code', `const a = '${'a'.repeat(90)}'; // So long.`, 1],
  ])('have at most 100 columns: %s', (_, source, line) => {
    expect(problemsIn(source)).toEqual([expect.stringMatching(`^a.tsx:${line}: has \\d+ characters; at most 100$`)]);
  });

  it.each([
    ['an address', `/** @see https://example.org/${'a'.repeat(100)} */`],
    ['an address in a line of its own', `/**\n * @see https://example.org/${'a'.repeat(100)}\n */`],
    ['code in a comment', '// Say `nobody`.'],
    ['a string that looks like a comment', `const a = '// Nobody ${'a'.repeat(100)}';`],
    ['code without a comment', `const a = '${'a '.repeat(100)}';`],
  ])('may contain %s', (_, source) => {
    expect(problemsIn(source)).toEqual([]);
  });
});
