import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installedPrograms } from './installed-programs.ts';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'installed-programs-'));
});
afterEach(() => rm(root, { recursive: true }));

describe('the programs of the machine', () => {
  it('are those of the first folder on PATH that has them', async () => {
    await addFile('empty/readme');
    await addFile('first/redis-server', 0o755);
    await addFile('second/redis-server', 0o755);
    const PATH = ['empty', 'first', 'second'].map((name) => join(root, name)).join(delimiter);
    expect(await installedPrograms('redis', { PATH })).toEqual({ folder: join(root, 'first'), libraryFolders: [] });
  });

  it('must be executable', async () => {
    await addFile('first/redis-server', 0o644);
    expect(await installedPrograms('redis', { PATH: join(root, 'first') })).toBeUndefined();
  });

  it('must all be in one folder', async () => {
    await addFile('server/postgres', 0o755);
    await addFile('tools/initdb', 0o755);
    await addFile('both/postgres', 0o755);
    await addFile('both/initdb', 0o755);
    const PATH = ['server', 'tools', 'both'].map((name) => join(root, name)).join(delimiter);
    expect((await installedPrograms('postgres', { PATH }))?.folder).toBe(join(root, 'both'));
  });
});

async function addFile(path: string, mode = 0o644): Promise<void> {
  const file = join(root, path);
  await mkdir(join(file, '..'), { recursive: true });
  await writeFile(file, '');
  await chmod(file, mode);
}
