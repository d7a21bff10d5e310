import { access, constants, glob } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { unpackPackages } from './debian-packages.js';

/** A server whose programs are needed. */
export interface WantedPrograms {
  readonly name: string;
  /** All in one folder. The first one is the server. */
  readonly programs: readonly string[];
  /** Debian's packages that contain them. */
  readonly packages: readonly string[];
  /** The variable with the URL of a server that is already running. */
  readonly urlVariable?: string;
}

/** The location of a server's programs. */
export interface Programs {
  readonly folder: string;
  /** Folders of shared libraries that belong to the programs, for LD_LIBRARY_PATH. */
  readonly libraryFolders: readonly string[];
}

const found = new Map<string, Promise<Programs>>();

/**
 * The installed programs or, failing that, those of Debian's packages, unpacked into a cache
 * folder.
 *
 * @throws Error that says what was tried and what a person can do.
 */
export function findPrograms(wanted: WantedPrograms, alreadyTried: readonly string[] = []): Promise<Programs> {
  return found.getOrInsertComputed(wanted.name, () => searchPrograms(wanted, alreadyTried));
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

/** The folder on PATH, or where packages install Postgres, that contains all these programs. */
export async function installedPrograms(
  { programs }: WantedPrograms,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Programs | undefined> {
  const onPath = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  // Debian and Red Hat install Postgres outside of PATH, one folder per version. Newest first.
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
 * The programs from Debian's packages, with the shared libraries that this machine lacks.
 *
 * @throws Error when the system is not Debian or a descendant, or its archive can't be reached.
 */
async function programsFromDebian(wanted: WantedPrograms): Promise<Programs> {
  const { name, packages } = wanted;
  const root = await unpackPackages(name, packages, (plan) => packagesInPlan(plan, packages));
  const unpacked = await unpackedPrograms(wanted, root);
  if (unpacked === undefined) throw new Error(`the packages hold no ${wanted.programs.join(' and ')}`);
  return unpacked;
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

/**
 * Selects the packages to unpack from apt's plan: the required packages, packages that they stand
 * for (`postgresql-17` for `postgresql`), and libraries. The rest serves an installed system:
 * service scripts, Perl tools, headers, and the compiler for Postgres' JIT, which is off.
 */
export function packagesInPlan(planned: readonly string[], wanted: readonly string[]): readonly string[] {
  const needed = planned.filter(
    (name) => /^postgresql-(client-)?\d+$/.test(name) || (/^lib/.test(name) && !/llvm|^libz3|-perl$|-dev$/.test(name)),
  );
  return [...new Set([...wanted, ...needed])];
}
