import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

export const repositoryRoot = join(import.meta.dirname, '../..');

/** A statement of a document, with the tests that it names. */
export interface Statement {
  readonly text: string;
  /** "test-e2e/behaviours/usage.ts › counts what was used" */
  readonly references: readonly string[];
}

/**
 * The statements of a document: items of a list; the lines after each are references in backquotes.
 */
export function readStatements(document: string): readonly Statement[] {
  return statementsIn(readFileSync(join(repositoryRoot, document), 'utf8'));
}

function statementsIn(text: string): readonly Statement[] {
  return text
    .split(/^- /m)
    .slice(1)
    .map((item) => {
      const [first = '', ...lines] = item.split('\n');
      const references = lines.flatMap((line) => /^ {2}(`+)(.+)\1$/.exec(line)?.[2] ?? []);
      return { text: first, references };
    });
}

/** The statements of a document as a table per section: each with the files of its tests. */
export function coverageTable(document: string): string {
  const [, ...sections] = readFileSync(join(repositoryRoot, document), 'utf8').split(/^## /m);
  const tables = sections.map((section) => {
    const [title = ''] = section.split('\n');
    const rows = statementsIn(section).map(({ text, references }) => `| ${text} | ${filesOf(references).join(', ')} |`);
    return [`## ${title}`, '', '| statement | tests |', '| --- | --- |', ...rows, ''].join('\n');
  });
  return [coverageHead, ...tables].join('\n');
}

const coverageHead = `# Every statement of the specification, and its tests

<!-- Written by test-e2e/structure/spec-coverage.test.ts from test-e2e/structure/spec-statements.md. -->

_contract_ is \`test-e2e/behaviours/contract.ts\`. It provokes each cell of the contract with a service token and a
personal one. It checks the status, which headers are present and absent, and the whole body against
[openapi.yaml](../openapi.yaml). It also checks every event of a stream, and that the gateway calls no provider for a
request that it rejects itself.
`;

function filesOf(references: readonly string[]): readonly string[] {
  const files = references.map((reference) => reference.split(' › ')[0] ?? '');
  return [...new Set(files)].map((file) => (file === 'contract' ? '_contract_' : `[${basename(file)}](../../${file})`));
}

/** The titles of a file's tests and groups of tests. Empty for a missing file. */
export function titlesIn(file: string): readonly string[] {
  try {
    const source = readFileSync(join(repositoryRoot, file), 'utf8');
    return [...source.matchAll(title)].map(([, one, other]) => one ?? other ?? '');
  } catch {
    return [];
  }
}

/** The first argument of `it(…)`, `describe(…)`, and of the result of `it.each(…)`. */
const title = /(?:\b(?:it|describe)|\))\(\s*(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)")/g;
