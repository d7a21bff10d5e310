import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { buildContent } from '../content/build-content.ts';
import { packPackage } from '../package/build-package.ts';
import type { Source } from '../source.ts';
import { entriesIn, entryOf, writeArchive } from './archive.ts';
import { provenanceOf, type Subject } from './provenance.ts';

/** A file that a release publishes. */
export interface ReleaseFile extends Subject {
  readonly kind: Kind;
  readonly bytes: number;
}

export type Kind = 'package' | 'chart' | 'image' | 'sbom' | 'provenance' | 'checksums';

/** @param folder is replaced. Throws if it has other files than those of a release. */
export async function makeReleaseFiles(folder: string, source: Source): Promise<readonly ReleaseFile[]> {
  const { repository, name, version, time } = source;
  const sums = join(folder, checksums);
  empty(folder);
  // Marks the folder as one of a release, even if the build is interrupted.
  writeFileSync(sums, '');
  const content = join(folder, 'content');
  await buildContent(content, time);
  const built = [
    fileAt('package', await packPackage(content, folder)),
    fileAt('chart', await packChart(source, folder)),
    fileAt('image', await packImage(source, content, folder)),
    fileAt('sbom', copyOf(join(content, 'documents/sbom.cdx.json'), join(folder, `${name}-${version}.cdx.json`))),
  ];
  const statement = join(folder, `${name}-${version}.provenance.json`);
  const lockfile = digestOf(join(repository, 'package-lock.json'));
  writeFileSync(statement, `${JSON.stringify(provenanceOf(source, built, lockfile), undefined, 2)}\n`);
  const summed = [...built, fileAt('provenance', statement)];
  writeFileSync(sums, summed.map(({ sha256, name: file }) => `${sha256}  ${file}\n`).join(''));
  for (const file of [statement, sums]) utimesSync(file, time, time);
  rmSync(content, { recursive: true });
  return [...summed, fileAt('checksums', sums)];
}

/** As sha256sum writes and checks them. */
const checksums = 'SHA256SUMS';

function empty(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, checksums))) {
    throw new Error(`${folder} has files that are not those of a release. Choose an empty folder with --output.`);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

/** The files as `helm package` packs them: a chart's layer in a registry. */
async function packChart({ repository, name, version, time }: Source, folder: string): Promise<string> {
  const chart = join(repository, 'deploy/kubernetes/chart');
  const described = z
    .looseObject({ name: z.string(), version: z.string(), appVersion: z.string() })
    .parse(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')));
  if (described.version !== version || described.appVersion !== version) {
    throw new Error(`The chart has version ${described.version}. Run npm run generate:kubernetes.`);
  }
  const file = join(folder, `${name}-chart-${version}.tgz`);
  await writeArchive(file, entriesIn(chart, described.name), time);
  return file;
}

/** What the last stage of the Dockerfile copies, and the Dockerfile. */
async function packImage(
  { repository, name, version, time }: Source,
  content: string,
  folder: string,
): Promise<string> {
  const file = join(folder, `${name}-image-${version}.tgz`);
  const own = ['Dockerfile', 'entrypoint.sh', 'healthcheck.ts'].map((each) => `deploy/docker/${each}`);
  const entries = [...own.map((path) => entryOf(join(repository, path), path)), ...entriesIn(content, 'content')];
  await writeArchive(file, entries, time);
  return file;
}

function copyOf(from: string, to: string): string {
  copyFileSync(from, to);
  return to;
}

function fileAt(kind: Kind, path: string): ReleaseFile {
  return { kind, name: basename(path), bytes: readFileSync(path).length, sha256: digestOf(path) };
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
