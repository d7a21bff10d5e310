import { relative } from 'node:path';
import type { Kind, ReleaseFile } from './files/release-files.ts';
import type { Source } from './source.ts';

/** What would be published where, as text for a terminal. */
export function summary(source: Source, registry: string, folder: string, files: readonly ReleaseFile[]): string {
  const { name, version, commit, changes } = source;
  const place = relative(process.cwd(), folder) || '.';
  return [
    `${name} ${version} of commit ${commit}. Nothing is published.`,
    ...(changes.length === 0 ? [] : ['', ...warningOf(changes)]),
    '',
    ...table([['file', 'size', 'sha256'], ...files.map((file) => [file.name, sizeOf(file.bytes), file.sha256])]),
    '',
    ...table([['publish', 'to', 'from'], ...destinations(source, registry, files)]),
    '',
    'The image gets its digest when the workflow builds it, on the base image of that day.',
    'The provenance is not signed: the workflow signs one with its identity, for each file and the image.',
    `Check the files: (cd ${place} && sha256sum --check SHA256SUMS)`,
    '',
  ].join('\n');
}

function warningOf(changes: readonly string[]): readonly string[] {
  return [
    'WARNING: the files contain changes that are not in the commit. The provenance lists them:',
    ...changes.map((change) => `  ${change}`),
  ];
}

function destinations({ name, version }: Source, registry: string, files: readonly ReleaseFile[]) {
  const from = (kind: Kind) => files.find((file) => file.kind === kind)?.name ?? '';
  return [
    ['package', `npm: ${name}@${version}`, from('package')],
    ['image', `${registry}/${name}:${version}`, from('image')],
    ['chart', `${registry}/charts/${name}:${version}`, from('chart')],
    ['release', `GitHub: v${version}`, 'all files'],
  ];
}

function sizeOf(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
