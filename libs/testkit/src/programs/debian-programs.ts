import { randomUUID } from 'node:crypto';
import { chmod, glob, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { reportProgress } from '../progress.ts';
import { AptIndex } from './apt-index.ts';
import { type ProgramKind, programNames } from './backend-kind.ts';
import { cacheFolder } from './cache-folder.ts';
import type { Programs } from './find-programs.ts';
import { holdsAll } from './installed-programs.ts';
import { runCommand } from './run-command.ts';

/**
 * The programs of a kind out of Debian's packages, with the shared libraries that this machine lacks: downloaded,
 * verified by apt, and unpacked into the cache. Nothing is installed and no root is needed.
 *
 * @throws Error when this is not Debian or a descendant, or its archive can't be reached.
 */
export async function programsFromDebian(kind: ProgramKind, cache = cacheFolder()): Promise<Programs> {
  const root = join(cache, await systemName(), kind);
  const cached = await unpackedPrograms(kind, root);
  if (cached !== undefined) return cached;
  await fetchInto(kind, root);
  const fetched = await unpackedPrograms(kind, root);
  if (fetched === undefined) throw new Error(`the packages hold no ${programNames[kind].join(' and ')}`);
  return fetched;
}

/** Libraries depend on the release and the processor: a cache that is shared between machines keeps them apart. */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string) => new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

async function unpackedPrograms(kind: ProgramKind, root: string): Promise<Programs | undefined> {
  const folders = ['usr/bin', 'usr/sbin', 'usr/lib/postgresql/*/bin'].map((folder) => join(root, folder));
  for await (const folder of glob(folders)) {
    if (!(await holdsAll(folder, programNames[kind]))) continue;
    const libraries = await Array.fromAsync(glob(['lib', 'usr/lib'].map((lib) => join(root, lib, '**/*.so.*'))));
    return { folder, libraryFolders: [...new Set(libraries.map(dirname))] };
  }
  return undefined;
}

/** Unpacks beside the goal and renames, so that two runs at once, or one that is cut short, never leave half a folder. */
async function fetchInto(kind: ProgramKind, root: string): Promise<void> {
  const parent = dirname(root);
  const unpacked = join(parent, `.${kind}-${randomUUID()}`);
  const downloads = `${unpacked}.deb`;
  try {
    for (const folder of [unpacked, downloads]) await mkdir(folder, { recursive: true });
    for (const folder of [dirname(parent), parent, unpacked]) await chmod(folder, 0o755);
    const index = await AptIndex.ofThisProcess();
    const packages = await index.packagesToUnpack(kind);
    reportProgress(`downloading ${packages.join(', ')} from Debian's archive`);
    await index.download(packages, downloads);
    for await (const file of glob(join(downloads, '*.deb'))) {
      await runCommand('dpkg', ['--extract', file, unpacked], { timeoutMs: 120_000 });
    }
    await rename(unpacked, root).catch((thrown) => keepOfOtherRun(kind, root, thrown));
  } finally {
    await Promise.all([unpacked, downloads].map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

async function keepOfOtherRun(kind: ProgramKind, root: string, thrown: unknown): Promise<void> {
  if ((await unpackedPrograms(kind, root)) === undefined) throw thrown;
}
