import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { type CodeBlock, placeOf } from '@gateway/testkit/pages';
import { makePageFolder, repositoryRoot } from './page-folder.ts';

/**
 * The compiler's errors in TypeScript blocks, with their places on the page. Each block is a
 * program of its own.
 */
export async function typeProblems(blocks: readonly CodeBlock[]): Promise<readonly string[]> {
  await using folder = await makePageFolder('clone');
  const files = new Map(blocks.map((block, index) => [`types/block-${index}.mts`, block]));
  for (const [name, { text }] of files) await folder.write(name, `${text}\nexport {};`);
  await folder.write(
    'types/tsconfig.json',
    JSON.stringify({ compilerOptions, files: [...files.keys()].map((name) => name.slice('types/'.length)) }),
  );
  const compiler = spawn(join(repositoryRoot, 'node_modules/.bin/tsc'), ['--project', 'types', '--pretty', 'false'], {
    cwd: folder.path,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = await textOf(compiler.stdout);
  return said.split('\n').flatMap((line) => {
    const [, name = '', row = '', problem = ''] = /^(\S+?)\((\d+),\d+\): (.*)$/.exec(line) ?? [];
    const block = files.get(name);
    if (block === undefined) return line === '' ? [] : [line];
    return [`${placeOf({ ...block, line: block.line + Number(row) })}: ${problem}`];
  });
}

/** As strict as a reader's settings may be. */
const compilerOptions = {
  target: 'esnext',
  lib: ['esnext', 'dom', 'dom.iterable'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  skipLibCheck: true,
};
