import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { buildPrograms } from '../../scripts/build-programs.ts';
import { licenceList } from './licence-list.ts';
import { partsIn, readLockfile } from './parts.ts';
import { billOfMaterials } from './sbom.ts';

// Builds what the package and the image have in common: the programs with the console, and the
// documents on them. The Dockerfile runs it too, so both have the same bytes.
//
//   npx node deploy/release/content/build-content.ts <folder>

const repository = join(import.meta.dirname, '../../..');
const consoleFolder = join(repository, 'services/admin/console');

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) throw new Error('Give a folder: npx node deploy/release/content/build-content.ts <folder>');
  const { SOURCE_DATE_EPOCH: seconds } = process.env;
  await buildContent(folder, seconds === undefined ? undefined : new Date(Number(seconds) * 1_000));
}

/**
 * Writes `programs/` and `documents/`.
 *
 * @param folder is replaced.
 * @param time stands for the time of the build in the bill of materials.
 */
export async function buildContent(folder: string, time?: Date): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const documents = join(folder, 'documents');
  mkdirSync(documents, { recursive: true });
  execFileSync(process.execPath, [join(consoleFolder, 'build.js'), '--strict'], { stdio: ['ignore', 'ignore', 2] });
  const bundled = await buildPrograms(join(folder, 'programs'));
  const lockfile = readLockfile(join(repository, 'package-lock.json'));
  const parts = partsIn(lockfile, bundled, packagesOfConsole());
  cpSync(join(repository, 'LICENSE'), join(documents, 'LICENSE'));
  writeFileSync(join(documents, 'licences.txt'), licenceList(parts, repository));
  const sbom = billOfMaterials(lockfile, parts, time);
  writeFileSync(join(documents, 'sbom.cdx.json'), `${JSON.stringify(sbom, undefined, 2)}\n`);
}

/** As vite lists them: `react@19.3.1`. */
function packagesOfConsole(): ReadonlySet<string> {
  const listed: unknown = JSON.parse(readFileSync(join(consoleFolder, 'dist/.parts.json'), 'utf8'));
  const packages = z.array(z.object({ name: z.string(), version: z.string() })).parse(listed);
  return new Set(packages.map(({ name, version }) => `${name}@${version}`));
}
