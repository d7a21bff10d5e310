import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, glob, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Programs } from './installed-programs.ts';
import { holdsAll, type ProgramKind, programNames } from './installed-programs.ts';
import { reportProgress, runCommand } from './run-command.ts';

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

let ofThisProcess: Promise<AptIndex> | undefined;

/** What Debian's archive offers, read with the system's own sources and keys into a folder of this process. */
export class AptIndex {
  readonly #settings: readonly string[];

  static ofThisProcess(): Promise<AptIndex> {
    ofThisProcess ??= AptIndex.#read();
    ofThisProcess.catch(() => {
      ofThisProcess = undefined;
    });
    return ofThisProcess;
  }

  static async #read(): Promise<AptIndex> {
    const folder = await mkdtemp(join(tmpdir(), 'testkit-apt-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    for (const part of ['lists/partial', 'cache/archives/partial'])
      await mkdir(join(folder, part), { recursive: true });
    const index = new AptIndex(folder);
    reportProgress("reading the index of Debian's archive (apt-get update)");
    await index.#aptGet(['update'], 180_000);
    return index;
  }

  private constructor(folder: string) {
    this.#settings = [
      `Dir::State::lists=${folder}/lists`,
      `Dir::Cache=${folder}/cache`,
      'APT::Sandbox::User=',
      'Debug::NoLocking=1',
      'Acquire::Retries=3',
    ].flatMap((setting) => ['-o', setting]);
  }

  /** The packages that hold a kind's programs, and those of the libraries they need that this machine lacks. */
  async packagesToUnpack(kind: ProgramKind): Promise<readonly string[]> {
    const wanted = kind === 'postgres' ? await this.#postgresPackages() : packagesOf[kind];
    const plan = await this.#aptGet(
      ['install', '--simulate', '--reinstall', '--no-install-recommends', '--assume-yes', ...wanted],
      60_000,
    );
    return packagesInPlan(plan, wanted);
  }

  /** Downloads into a folder; apt checks the signatures. */
  async download(packages: readonly string[], folder: string): Promise<void> {
    await this.#aptGet(['download', ...packages], 600_000, folder);
  }

  /** The release's own version: the package `postgresql` depends on it. */
  async #postgresPackages(): Promise<readonly string[]> {
    const relations = await runCommand('apt-cache', [...this.#settings, 'depends', 'postgresql'], {
      timeoutMs: 60_000,
    });
    const version = /Depends: postgresql-(\d+)/.exec(relations)?.[1];
    if (version === undefined) throw new Error('the archive has no package postgresql');
    return [`postgresql-${version}`, `postgresql-client-${version}`];
  }

  #aptGet(parameters: readonly string[], timeoutMs: number, cwd?: string): Promise<string> {
    return runCommand('apt-get', [...this.#settings, ...parameters], {
      timeoutMs,
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, LC_ALL: 'C' },
    });
  }
}

const packagesOf: Record<Exclude<ProgramKind, 'postgres'>, readonly string[]> = {
  redis: ['redis-server', 'redis-tools'],
  nats: ['nats-server'],
  pgbouncer: ['pgbouncer'],
};

/**
 * The wanted packages and the libraries among what apt would install with them. The rest serves an installed system:
 * service scripts, Perl tools, headers, and the compiler behind Postgres' JIT, which is off.
 */
export function packagesInPlan(plan: string, wanted: readonly string[]): readonly string[] {
  const planned = plan.matchAll(/^Inst (\S+)/gm).map(([, name = '']) => name);
  const needed = planned.filter(
    (name) => wanted.includes(name) || (/^lib/.test(name) && !/llvm|^libz3|-perl$|-dev$/.test(name)),
  );
  return [...new Set([...wanted, ...needed])];
}

/**
 * Where downloaded programs are kept between runs. Root's home is closed to the user that Postgres runs as, so root
 * keeps them in the machine's cache.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, isRoot = process.getuid?.() === 0): string {
  const caches = env.XDG_CACHE_HOME || (isRoot ? '/var/cache' : join(homedir(), '.cache'));
  return join(caches, 'model-gateway', 'programs');
}
