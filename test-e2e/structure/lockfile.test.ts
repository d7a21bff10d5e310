import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = join(import.meta.dirname, '../..');
const read = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const lockfile = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        engines: z.unknown().optional(),
        integrity: z.string().optional(),
        link: z.boolean().optional(),
        deprecated: z.string().optional(),
        hasInstallScript: z.boolean().optional(),
        optionalDependencies: z.record(z.string(), z.string()).optional(),
      }),
    ),
  })
  .parse(read('package-lock.json'));
const { allowScripts } = z.object({ allowScripts: z.record(z.string(), z.boolean()) }).parse(read('package.json'));
/** All except the repository itself. */
const installed = Object.entries(lockfile.packages).filter(([folder]) => folder !== '');

describe('npm ci has nothing to warn of, as the lockfile', () => {
  it('is read whole', () => {
    expect(installed.length).toBeGreaterThan(300);
  });

  it('names no engines: npm would compare them with a Node that runs none of it (npm run tidy:lockfile)', () => {
    expect(installed.filter(([, { engines }]) => engines !== undefined).map(([folder]) => folder)).toEqual([]);
  });

  it('has the packages for other machines too: npm from 11.21 on installs nothing without them', () => {
    const missing = installed.flatMap(([folder, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter((name) => !isFound(name, folder)),
    );
    expect(missing).toEqual([]);
  });

  it('has no deprecated package: another version, another package or an override takes its place', () => {
    expect(
      installed.flatMap(([folder, { deprecated }]) => (deprecated === undefined ? [] : [`${folder}: ${deprecated}`])),
    ).toEqual([]);
  });

  it('lets no package run a script of its own, whatever npm installs it (npm run tidy:lockfile)', () => {
    expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([folder]) => folder)).toEqual([]);
  });

  it('and package.json denies the same scripts, for npm install <package>, and names no other package', () => {
    const withScripts = installed.map(([folder]) => folder).filter(hasScripts);
    const names = withScripts.map((folder) => folder.replace(/^.*node_modules\//, ''));
    expect(Object.keys(allowScripts).toSorted()).toEqual([...new Set(names)].toSorted());
    expect(Object.values(allowScripts)).not.toContain(true);
  });
});

describe('the lockfile', () => {
  // npm may leave it out for packages of other machines. Then remove their entries, and that of the
  // package that names them, from the lockfile, and run npm install --package-lock-only and npm run
  // tidy:lockfile.
  it('has the digest of every package, also of those for other machines: npm installs nothing else in its place', () => {
    const downloaded = installed.filter(([folder, { link }]) => folder.includes('node_modules/') && link !== true);
    expect(downloaded.length).toBeGreaterThan(300);
    const unpinned = downloaded.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity));
    expect(unpinned.map(([folder]) => folder)).toEqual([]);
  });
});

/**
 * Whether npm would run a script when it installs the package. Packages for other machines are not
 * installed, and have none.
 */
function hasScripts(folder: string): boolean {
  if (!folder.includes('node_modules/') || !existsSync(join(root, folder, 'package.json'))) return false;
  const manifest = z.object({ scripts: z.record(z.string(), z.string()).optional() });
  const { scripts = {} } = manifest.parse(read(join(folder, 'package.json')));
  const isBuilt = existsSync(join(root, folder, 'binding.gyp'));
  return isBuilt || ['preinstall', 'install', 'postinstall'].some((name) => name in scripts);
}

/** As Node finds a package: in the folder of its importer, and in the folders around it. */
function isFound(name: string, user: string): boolean {
  const around = user
    .split('/node_modules/')
    .map((_, index, parts) => parts.slice(0, parts.length - index).join('/node_modules/'));
  return [...around.map((folder) => `${folder}/node_modules/${name}`), `node_modules/${name}`].some(
    (path) => path in lockfile.packages,
  );
}
