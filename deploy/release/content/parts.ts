import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { z } from 'zod';

const lockedPackage = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  integrity: z.string().optional(),
  license: z.string().optional(),
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
  dependencies: z.record(z.string(), z.string()).optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
  peerDependencies: z.record(z.string(), z.string()).optional(),
});

const lockfile = z.object({
  name: z.string(),
  version: z.string(),
  packages: z.record(z.string(), lockedPackage),
});

/** What package-lock.json says: each package by the path that it is installed at. */
export type Lockfile = z.infer<typeof lockfile>;

/** A package of others that has code in the programs or in the console. */
export interface Part {
  /** `@grpc/grpc-js@1.14.7` */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  /** `sha512-…`, of the tarball in the registry. */
  readonly integrity: string;
  /** The paths it is installed at. */
  readonly paths: readonly string[];
  /** The ids of other parts. */
  readonly dependsOn: readonly string[];
}

export function readLockfile(file: string): Lockfile {
  return lockfile.parse(JSON.parse(readFileSync(file, 'utf8')));
}

/**
 * Throws if one of them is not in the lockfile, or names no licence.
 *
 * @param bundled paths in the lockfile.
 * @param ids more packages, as `name@version`.
 * @returns the parts, by id.
 */
export function partsIn(
  { packages }: Lockfile,
  bundled: ReadonlySet<string>,
  ids: ReadonlySet<string>,
): readonly Part[] {
  const installed = Object.keys(packages).filter((path) => path.includes('node_modules/') && !packages[path]?.link);
  const idOf = (path: string) => `${nameOf(path, packages[path]?.name)}@${packages[path]?.version ?? ''}`;
  const wanted = new Set([...[...bundled].map(idOf), ...ids]);
  const found = Map.groupBy(
    installed.filter((path) => wanted.has(idOf(path))),
    idOf,
  );
  const missing = [
    ...[...bundled].filter((path) => !installed.includes(path)),
    ...[...ids].filter((id) => !found.has(id)),
  ];
  if (missing.length > 0) throw new Error(`These are bundled, and not in package-lock.json: ${missing.join(', ')}`);
  return [...found].map(([id, paths]) => partOf(id, paths)).toSorted((one, other) => (one.id < other.id ? -1 : 1));

  function partOf(id: string, paths: readonly string[]): Part {
    const [path = ''] = paths;
    const { version = '', license = '', integrity = '' } = packages[path] ?? {};
    if (license === '') throw new Error(`${id} names no licence.`);
    const needed = new Set(paths.flatMap((each) => dependenciesOf(packages, each)).map(idOf));
    const dependsOn = [...needed].filter((other) => found.has(other) && other !== id).toSorted();
    return { id, name: nameOf(path, packages[path]?.name), version, licence: license, integrity, paths, dependsOn };
  }
}

/** The ids of what our own packages import themselves. */
export function directDependencies({ packages }: Lockfile): ReadonlySet<string> {
  const own = Object.keys(packages).filter((path) => !path.includes('node_modules/'));
  const paths = own.flatMap((path) => dependenciesOf(packages, path));
  return new Set(paths.map((path) => `${nameOf(path, packages[path]?.name)}@${packages[path]?.version ?? ''}`));
}

/** The paths that Node finds the dependencies of a package at, in its own folder or one above. */
export function dependenciesOf(packages: Lockfile['packages'], path: string): readonly string[] {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path] ?? {};
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return names.flatMap((name) => {
    for (let folder = path; ; folder = posix.dirname(folder)) {
      const place = posix.join(folder === '.' ? '' : folder, 'node_modules', name);
      if (packages[place] !== undefined) return [place];
      if (folder === '.' || folder === '') return [];
    }
  });
}

function nameOf(path: string, name: string | undefined): string {
  return name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
