import { execFile } from 'node:child_process';
import { glob, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

it('deploy/observability is what `npm run generate:observability` writes', async () => {
  const fresh = await mkdtemp(join(tmpdir(), 'observability-'));
  onTestFinished(() => rm(fresh, { recursive: true }));
  await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'generate.ts'), '--output', fresh]);

  const [kept, written] = [await textsIn(join(import.meta.dirname, '../../observability')), await textsIn(fresh)];
  expect([...kept.keys()]).toEqual([...written.keys()]);
  for (const [path, text] of written) expect(kept.get(path), `${path}: run npm run generate:observability`).toBe(text);
});

async function textsIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const written = '{kustomization.yaml,{grafana,prometheus,kubernetes}/**/*.{yaml,json}}';
  const paths = (await Array.fromAsync(glob(written, { cwd: folder }))).toSorted();
  expect(paths.length).toBeGreaterThan(15);
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(join(folder, path), 'utf8')] as const)),
  );
}
