import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { areas, leastScore } from './areas.ts';
import { copyOfTree } from './copy-of-tree.ts';
import { optionsOf } from './options-of.ts';

// Changes the code of an area, one operator, value or branch at a time, and runs its tests each
// time: see docs/develop/tests.md.

const usage = `npm run mutate -- [options] [area…]
  --afresh         runs the tests of all changes, not only of those that can have another result than the last time
  --files <glob>   changes only these files of the areas
areas: ${Object.keys(areas).join(', ')}; all of them in turn, if none is named
`;

const root = join(import.meta.dirname, '../..');
const results = join(root, '.cache/mutation');
const stryker = join(
  dirname(createRequire(import.meta.url).resolve('@stryker-mutator/core/package.json')),
  'bin/stryker.js',
);
let running: ChildProcess | undefined;
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    running?.kill('SIGINT');
  });
}

await main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      afresh: { type: 'boolean', default: false },
      files: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => !(name in areas));
  if (values.help || unknown.length > 0) {
    process.stdout.write(unknown.map((name) => `mutate: there is no area ${name}\n`).join('') + usage);
    process.exitCode = unknown.length > 0 ? 1 : 0;
  } else {
    await mkdir(results, { recursive: true });
    const chosen = positionals.length > 0 ? positionals : Object.keys(areas);
    for (const area of chosen) if (!isInterrupted && !(await mutate(area, values))) process.exitCode = 1;
    if (isInterrupted) process.exitCode = 130;
  }
}

/** Whether the tests notice enough of the changes. */
async function mutate(
  name: string,
  { afresh, files }: { readonly afresh: boolean; readonly files?: string | undefined },
): Promise<boolean> {
  const area = areas[name];
  if (area === undefined) throw new Error(`There is no area ${name}.`);
  process.stdout.write(`${name}: at least ${leastScore} % of the changes must fail a test\n`);
  await using copy = await copyOfTree(root);
  const options = optionsOf(
    { ...area, mutate: files === undefined ? area.mutate : [files] },
    join(results, name),
    afresh,
  );
  await writeFile(join(copy.folder, 'stryker.config.json'), JSON.stringify(options));
  // In a process group of its own, a second signal from the terminal does not keep it from saving
  // its results.
  running = spawn(process.execPath, [stryker, 'run'], {
    cwd: copy.folder,
    stdio: 'inherit',
    env: { ...process.env, MUTATED_AREA: name },
    detached: true,
  });
  const [code] = await once(running, 'exit');
  return code === 0;
}
