import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

it('deploy/kubernetes is what `npm run generate:kubernetes` writes, besides the templates of the chart', async () => {
  const fresh = await mkdtemp(join(tmpdir(), 'kubernetes-'));
  onTestFinished(() => rm(fresh, { recursive: true }));
  const program = join(import.meta.dirname, 'generate.ts');
  await promisify(execFile)(process.execPath, [program, '--output', fresh]);

  const [kept, written] = [await textsIn(join(import.meta.dirname, '../../kubernetes')), await textsIn(fresh)];
  expect([...kept.keys()]).toEqual([...written.keys()]);
  for (const [path, text] of written) expect(kept.get(path), `${path}: run npm run generate:kubernetes`).toBe(text);
});

async function textsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const files = await Array.fromAsync(glob('**/*.{yaml,json}', { cwd: folder }));
  const paths = files.filter((path) => !path.startsWith('chart/templates/')).toSorted();
  expect(paths.length).toBeGreaterThan(30);
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path), 'utf8')] as const)),
  );
}
