import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../..');

/** What a document says, and the tests that it names for it. */
export interface Statement {
  readonly text: string;
  /** "test-e2e/behaviours/usage.ts › counts what was used" */
  readonly references: readonly string[];
}

/** The statements of a document: items of a list; the lines after each are references in backquotes. */
export function readStatements(document: string): readonly Statement[] {
  return readFileSync(join(repositoryRoot, document), 'utf8')
    .split(/^- /m)
    .slice(1)
    .map((item) => {
      const [first = '', ...lines] = item.split('\n');
      const references = lines.flatMap((line) => /^ {2}(`+)(.+)\1$/.exec(line)?.[2] ?? []);
      return { text: first, references };
    });
}

/** The titles of a file's tests and groups of tests. Empty for a file that is not there. */
export function titlesIn(file: string): readonly string[] {
  try {
    const source = readFileSync(join(repositoryRoot, file), 'utf8');
    return [...source.matchAll(title)].map(([, one, other]) => one ?? other ?? '');
  } catch {
    return [];
  }
}

/** The first argument of `it(…)`, `describe(…)`, and of what `it.each(…)` gives. */
const title = /(?:\b(?:it|describe)|\))\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/g;
