import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/**
 * Copies the sources of the repository, so that no changed program is ever among them. Packages of
 * the copy import each other, and installed packages from the repository.
 */
export async function copyOfTree(root: string): Promise<{ readonly folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'mutated-'));
  for (const file of await sourcesIn(root)) await cp(join(root, file), join(folder, file));
  for (const parent of ['.', ...(await foldersOfPackages(root))])
    await linkPackages(join(root, parent), join(folder, parent));
  // Repeated, because a test process that ends at this moment may still write its cache.
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 10 }) };
}

async function sourcesIn(root: string): Promise<readonly string[]> {
  const listed = [
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '-z',
    '--',
    'package.json',
    'tsconfig.json',
  ];
  const { stdout } = await promisify(execFile)('git', [...listed, 'proto', 'libs', 'services', 'test-e2e'], {
    cwd: root,
    maxBuffer: 2 ** 26,
  });
  return [...new Set(stdout.split('\0').filter((file) => file !== ''))];
}

async function foldersOfPackages(root: string): Promise<readonly string[]> {
  const folders = ['libs', 'services'].map(async (layer) =>
    (await readdir(join(root, layer))).map((name) => join(layer, name)),
  );
  return ['proto', 'test-e2e', ...(await Promise.all(folders)).flat()];
}

async function linkPackages(from: string, to: string): Promise<void> {
  const names = await readdir(join(from, 'node_modules')).catch(() => []);
  for (const name of names.filter((each) => !each.startsWith('.') && each !== '@gateway')) {
    await link(join(from, 'node_modules', name), join(to, 'node_modules', name));
  }
  const own = await readdir(join(from, 'node_modules/@gateway')).catch(() => []);
  for (const name of own) {
    // A relative link, which leads into the copy.
    const path = join('node_modules/@gateway', name);
    await link(await readlink(join(from, path)), join(to, path));
  }
}

async function link(target: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path);
}
