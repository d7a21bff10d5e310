import { mkdtempDisposable, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { buildConsole } from './build-console.ts';

it('all scripts of the console together are at most 190 KB gzipped', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'console-'));
  await buildConsole('vite.config.ts', folder.path);
  const assets = join(folder.path, 'assets');
  const scripts = (await readdir(assets)).filter((file) => file.endsWith('.js'));
  const sizes = await Promise.all(scripts.map(async (file) => gzipSync(await readFile(join(assets, file))).length));
  expect(sizes.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(190_000);
});
