import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { access, chmod, constants, glob, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** A server whose programs are to be found. */
export interface WantedPrograms {
  readonly name: string;
  /** All from one folder. The first one is the server. */
  readonly programs: readonly string[];
  /** Debian's packages that hold them. */
  readonly packages: readonly string[];
  /** Names a server that runs already. */
  readonly urlVariable?: string | undefined;
}

/** Where a server's programs are. */
export interface Programs {
  readonly folder: string;
  /** Folders of shared libraries that came with the programs, for LD_LIBRARY_PATH. */
  readonly libraryFolders: readonly string[];
}

const found = new Map<string, Promise<Programs>>();

/**
 * The programs of this machine, else those of Debian's packages, unpacked into a cache folder.
 *
 * @throws Error that says what was tried and what a person can do.
 */
export function findPrograms(wanted: WantedPrograms, alreadyTried: readonly string[] = []): Promise<Programs> {
  const finding = found.get(wanted.name) ?? searchPrograms(wanted, alreadyTried);
  found.set(wanted.name, finding);
  return finding;
}

export async function searchPrograms(
  wanted: WantedPrograms,
  alreadyTried: readonly string[],
  sources = { installed: installedPrograms, packaged: programsFromDebian },
): Promise<Programs> {
  const installed = await sources.installed(wanted);
  if (installed !== undefined) return installed;
  try {
    return await sources.packaged(wanted);
  } catch (thrown) {
    const { name, urlVariable } = wanted;
    const programs = wanted.programs.join(' and ');
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const tried = [...alreadyTried, `${programs} on PATH: not there`, `Debian's packages: ${reason}`];
    const advice =
      urlVariable === undefined
        ? `Install ${programs}.`
        : `Set ${urlVariable} to a server that runs, start a Docker engine, or install ${programs}.`;
    const lines = [
      `No ${name} server can be had. Tried, in this order:`,
      ...tried.map((attempt) => `  - ${attempt}`),
      advice,
    ];
    throw new Error(lines.join('\n'), { cause: thrown });
  }
}

/** The folder on PATH, or where packages put Postgres, with every program that is wanted. */
export async function installedPrograms(
  { programs }: WantedPrograms,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Programs | undefined> {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  // Debian and Red Hat keep Postgres off PATH, one folder per version. Newest first.
  const offPath = await Array.fromAsync(glob(['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin']));
  const newestFirst = offPath.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  for (const folder of [...onPath, ...newestFirst]) {
    if (await holdsAll(folder, programs)) return { folder, libraryFolders: [] };
  }
  return undefined;
}

function holdsAll(folder: string, programs: readonly string[]): Promise<boolean> {
  return Promise.all(programs.map((program) => access(join(folder, program), constants.X_OK))).then(
    () => true,
    () => false,
  );
}

/**
 * The programs out of Debian's packages, with the shared libraries that this machine lacks: downloaded, verified by apt, and
 * unpacked into the cache. Nothing is installed and no root is needed.
 *
 * @throws Error when this is not Debian or a descendant, or its archive can't be reached.
 */
async function programsFromDebian(wanted: WantedPrograms): Promise<Programs> {
  const root = join(cacheFolder(), await systemName(), wanted.name);
  const cached = await unpackedPrograms(wanted, root);
  if (cached !== undefined) return cached;
  await unpackInto(root, wanted);
  const unpacked = await unpackedPrograms(wanted, root);
  if (unpacked === undefined) throw new Error(`the packages hold no ${wanted.programs.join(' and ')}`);
  return unpacked;
}

/**
 * Where downloaded programs are kept between runs. Root's home is closed to the user that Postgres runs as, so root
 * keeps them in the machine's cache.
 */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, isRoot = process.getuid?.() === 0): string {
  const caches = env.XDG_CACHE_HOME || (isRoot ? '/var/cache' : join(homedir(), '.cache'));
  return join(caches, 'model-gateway', 'programs');
}

/** Libraries depend on the release and the processor: a cache that is shared between machines keeps them apart. */
async function systemName(): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const field = (name: string) => new RegExp(`^${name}="?([\\w.]+)`, 'm').exec(release)?.[1] ?? 'unknown';
  return `${field('ID')}-${field('VERSION_ID')}-${process.arch}`;
}

async function unpackedPrograms({ programs }: WantedPrograms, root: string): Promise<Programs | undefined> {
  const folders = ['usr/bin', 'usr/sbin', 'usr/lib/postgresql/*/bin'].map((folder) => join(root, folder));
  for await (const folder of glob(folders)) {
    if (!(await holdsAll(folder, programs))) continue;
    const libraries = await Array.fromAsync(glob(['lib', 'usr/lib'].map((lib) => join(root, lib, '**/*.so{,.*}'))));
    return { folder, libraryFolders: [...new Set(libraries.map(dirname))] };
  }
  return undefined;
}

/** Unpacks beside the goal and renames, so that two runs at once, or one that is cut short, never leave half a folder. */
async function unpackInto(root: string, wanted: WantedPrograms): Promise<void> {
  const parent = dirname(root);
  const unpacked = join(parent, `.${wanted.name}-${randomUUID()}`);
  const downloads = `${unpacked}.deb`;
  try {
    for (const folder of [unpacked, downloads]) await mkdir(folder, { recursive: true });
    for (const folder of [dirname(parent), parent, unpacked]) await chmod(folder, 0o755);
    const plan = await aptGet(
      ['install', '--simulate', '--reinstall', '--no-install-recommends', '--assume-yes', ...wanted.packages],
      downloads,
    );
    const packages = packagesInPlan(plan, wanted.packages);
    reportProgress(`downloading ${packages.join(', ')} from Debian's archive`);
    await aptGet(['download', ...packages], downloads);
    for await (const file of glob(join(downloads, '*.deb'))) await execute('dpkg', ['--extract', file, unpacked]);
    await rename(unpacked, root).catch(async (thrown) => {
      if ((await unpackedPrograms(wanted, root)) === undefined) throw thrown;
    });
  } finally {
    await Promise.all([unpacked, downloads].map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/**
 * The packages to unpack among what apt would install: those that are wanted, those that one of them stands for
 * (`postgresql` for `postgresql-17`), and libraries. The rest serves an installed system: service scripts, Perl tools,
 * headers, and the compiler behind Postgres' JIT, which is off.
 */
export function packagesInPlan(plan: string, wanted: readonly string[]): readonly string[] {
  const planned = plan.matchAll(/^Inst (\S+)/gm).map(([, name = '']) => name);
  const needed = planned.filter(
    (name) => /^postgresql-(client-)?\d+$/.test(name) || (/^lib/.test(name) && !/llvm|^libz3|-perl$|-dev$/.test(name)),
  );
  return [...new Set([...wanted, ...needed])];
}

let index: Promise<readonly string[]> | undefined;

/** Runs apt-get on the system's own sources and keys, with an index of its own. apt checks the signatures. */
async function aptGet(parameters: readonly string[], cwd: string): Promise<string> {
  index ??= readIndex();
  return runAptGet([...(await index), ...parameters], cwd);
}

/** Reads what Debian's archive offers. Gives the settings that say where that is kept as long as this process lives. */
async function readIndex(): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'testkit-apt-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const part of ['lists/partial', 'cache/archives/partial']) await mkdir(join(folder, part), { recursive: true });
  const settings = [
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}/cache`,
    'APT::Sandbox::User=',
    'Debug::NoLocking=1',
    'Acquire::Retries=3',
  ].flatMap((setting) => ['-o', setting]);
  reportProgress("reading the index of Debian's archive (apt-get update)");
  await runAptGet([...settings, 'update'], folder);
  return settings;
}

const execute = promisify(execFile);

async function runAptGet(parameters: readonly string[], cwd: string): Promise<string> {
  const { stdout } = await execute('apt-get', parameters, {
    cwd,
    timeout: 600_000,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, LC_ALL: 'C' },
  });
  return stdout;
}

/** One line about something slow, on standard error: a person should see why nothing happens yet. */
export function reportProgress(text: string): void {
  process.stderr.write(`testkit: ${text}\n`);
}
