import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { watchFile } from './watch-file.ts';

const never = 3_600_000;

function folderOf() {
  const folder = mkdtempSync(join(tmpdir(), 'watch-file-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

function countSuspicions(path: string, pollMs: number) {
  let count = 0;
  const watch = watchFile(path, () => count++, pollMs);
  onTestFinished(() => watch[Symbol.dispose]());
  return { count: () => count, watch };
}

describe('a file that is watched', () => {
  it('is suspected when it is written', async () => {
    const path = join(folderOf(), 'gateway.yaml');
    writeFileSync(path, 'a');
    const { count } = countSuspicions(path, never);
    writeFileSync(path, 'b');
    await expect.poll(count).toBeGreaterThan(0);
  });

  it('is suspected when another takes its place', async () => {
    const folder = folderOf();
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, 'a');
    writeFileSync(join(folder, 'new'), 'b');
    const { count } = countSuspicions(path, never);
    renameSync(join(folder, 'new'), path);
    await expect.poll(count).toBeGreaterThan(0);
  });

  it('is suspected when it is mounted from a ConfigMap that changes', async () => {
    const folder = folderOf();
    for (const version of ['..1', '..2']) {
      mkdirSync(join(folder, version));
      writeFileSync(join(folder, version, 'gateway.yaml'), version);
    }
    symlinkSync('..1', join(folder, '..data'));
    symlinkSync('..data/gateway.yaml', join(folder, 'gateway.yaml'));
    const { count } = countSuspicions(join(folder, 'gateway.yaml'), never);
    symlinkSync('..2', join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
    await expect.poll(count).toBeGreaterThan(0);
  });

  it('is suspected every few seconds, whatever its folder says, until the watch ends', async () => {
    const { count, watch } = countSuspicions(join(folderOf(), 'no-such-folder', 'gateway.yaml'), 5);
    await expect.poll(count).toBeGreaterThan(2);
    watch[Symbol.dispose]();
    const last = count();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(count()).toBe(last);
  });
});
