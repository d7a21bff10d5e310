import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildContent } from '../content/build-content.ts';
import { entriesIn, entryOf, writeArchive } from '../files/archive.ts';

// Makes the package that starts the gateway on a machine without a clone:
//
//   npm run build:package [-- <folder>]
//   npx ./model-gateway-<version>.tgz
//
// It has the programs of the image, the console, and a commented gateway.yaml. Node comes as an
// optional package for the platform. The same sources give the same bytes.

const repository = join(import.meta.dirname, '../../..');

const program = 'bin/model-gateway.js';

/** As in all packages that npm packs. */
const timeOfEveryPackage = new Date('1985-10-26T08:15:00Z');

if (import.meta.main) {
  const { file, bytes, sha256 } = await buildPackage(process.argv[2] ?? join(repository, 'dist-package'));
  process.stdout.write(`${file}\n${(bytes / 1e6).toFixed(1)} MB, sha256:${sha256}\n`);
}

export interface BuiltPackage {
  /** The path of the tarball. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** @param folder is replaced. */
export async function buildPackage(folder: string): Promise<BuiltPackage> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const content = join(folder, 'content');
  await buildContent(content);
  const file = await packPackage(content, folder);
  const bytes = readFileSync(file);
  return { file, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/**
 * @param content what `buildContent` built.
 * @returns the path of the tarball.
 */
export async function packPackage(content: string, folder: string): Promise<string> {
  const manifest = packageManifest();
  const file = join(folder, `${manifest.name}-${manifest.version}.tgz`);
  const entries = [
    { name: 'package/package.json', bytes: Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`) },
    { ...entryOf(join(import.meta.dirname, 'launcher.js'), `package/${program}`), executable: true },
    ...['gateway.yaml', 'README.md'].map((name) => entryOf(join(import.meta.dirname, name), `package/${name}`)),
    ...['LICENSE', 'licences.txt'].map((name) => entryOf(join(content, 'documents', name), `package/${name}`)),
    ...entriesIn(join(content, 'programs'), 'package/programs'),
  ];
  await writeArchive(file, entries, timeOfEveryPackage);
  return file;
}

/** The root's, without what only a clone needs. */
function packageManifest() {
  const {
    name,
    version,
    license,
    description,
    repository: source,
    optionalDependencies,
  } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  return {
    ...{ name: String(name), version: String(version), license, description, repository: source },
    type: 'module',
    bin: { 'model-gateway': program, gatewayctl: program },
    engines: { node: '>=20.19' },
    optionalDependencies,
  };
}
