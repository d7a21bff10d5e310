import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

// Fails when proto/gen is not what `npm run generate` would write: generates into a temporary folder and compares.

const root = join(import.meta.dirname, '../..');
const fresh = await mkdtemp(join(tmpdir(), 'generated-'));
try {
  await generateInto(fresh);
  const differences = differencesBetween(await filesIn(join(root, 'proto/gen')), await filesIn(join(fresh, 'gen')));
  report(differences);
} catch (thrown) {
  process.stderr.write(`proto/gen can't be checked: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = 1;
} finally {
  await rm(fresh, { recursive: true });
}

function report(differences: readonly string[]): void {
  if (differences.length === 0) {
    process.stdout.write('proto/gen is what buf generates.\n');
    return;
  }
  const lines = ['proto/gen is not what buf generates from proto/. Run `npm run generate`.', ...differences];
  process.stderr.write(`${lines.join('\n  - ')}\n`);
  process.exitCode = 1;
}

async function generateInto(folder: string): Promise<void> {
  const programs = join(root, 'node_modules/.bin');
  await promisify(execFile)(join(programs, 'buf'), ['generate', '--output', folder], {
    cwd: join(root, 'proto'),
    env: { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
  });
}

function differencesBetween(kept: ReadonlyMap<string, string>, fresh: ReadonlyMap<string, string>): readonly string[] {
  const paths = [...new Set([...kept.keys(), ...fresh.keys()])].toSorted();
  return paths.flatMap((path) => {
    if (!kept.has(path)) return [`${path} is missing`];
    if (!fresh.has(path)) return [`${path} has no contract any more`];
    return kept.get(path) === fresh.get(path) ? [] : [`${path} differs`];
  });
}

async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const entries = await Array.fromAsync(glob('**/*.*', { cwd: folder, withFileTypes: true }));
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    paths.map(async (path) => [path.slice(folder.length + 1), await readFile(path, 'utf8')] as const),
  );
  return new Map(texts);
}
