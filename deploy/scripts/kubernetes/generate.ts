import { glob, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { chartFiles } from './helm.ts';
import { kustomizeFiles } from './kustomize.ts';
import { defaultValues } from './values.ts';

// Writes deploy/kubernetes: the manifests for Kustomize, from the descriptions in services.ts, and
// the values of the Helm chart. The templates of the chart are written by hand. `--output <folder>`
// writes to another folder.

const { values } = parseArgs({ options: { output: { type: 'string' } } });
const folder = resolve(values.output ?? join(import.meta.dirname, '../../kubernetes'));
const files = new Map([...kustomizeFiles(defaultValues), ...chartFiles()]);
for await (const path of glob('**/*.{yaml,json}', { cwd: folder })) {
  if (!files.has(path) && !path.startsWith('chart/templates/')) await rm(join(folder, path));
}
for (const [path, text] of files) {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}
process.stdout.write(`${files.size} files in ${folder}\n`);
