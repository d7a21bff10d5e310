import { glob, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { observabilityFiles } from './observability-files.ts';

// Writes deploy/observability: rules of Prometheus with their tests, dashboards of Grafana, and
// their configuration. Removes files that it no longer writes. `--output <folder>` writes to
// another folder, `--runbooks <address>` is the address of the runbooks for readers.

const { values } = parseArgs({ options: { output: { type: 'string' }, runbooks: { type: 'string' } } });
const folder = resolve(values.output ?? join(import.meta.dirname, '../../observability'));
const files = observabilityFiles(values.runbooks?.replace(/\/$/, ''));
for await (const path of glob('{grafana,prometheus,kubernetes}/**/*.{yaml,json}', { cwd: folder })) {
  if (!files.has(path)) await rm(join(folder, path));
}
for (const [path, text] of files) {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}
process.stdout.write(`${files.size} files in ${folder}\n`);
