import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// Takes the `engines` of installed packages out of package-lock.json, to be run after `npm install <package>`. npm compares them
// with the Node that runs npm, and warns of each that wants a newer one. Here packages run on the Node that package.json names in
// its dependencies, whatever Node npm runs on: the warnings would all be wrong.
//
//   npm run tidy:lockfile

interface Lockfile {
  readonly packages: Readonly<Record<string, { engines?: unknown }>>;
}

const path = join(import.meta.dirname, '../../package-lock.json');
const lockfile: Lockfile = JSON.parse(await readFile(path, 'utf8'));
for (const [folder, entry] of Object.entries(lockfile.packages)) if (folder !== '') delete entry.engines;
await writeFile(path, `${JSON.stringify(lockfile, undefined, 2)}\n`);
