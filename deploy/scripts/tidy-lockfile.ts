import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// Takes out of package-lock.json what npm must not go by, to be run after `npm install <package>`:
//
// - `engines` of installed packages. npm compares them with the Node that runs npm, and warns of each that wants a newer one. Here
//   packages run on the Node that package.json names in its dependencies, whatever Node npm runs on: the warnings would all be wrong.
// - `hasInstallScript`. npm runs the scripts of a package only where the lockfile says that it has some, and none is needed here. So
//   none runs with any npm: older ones do not know of `allowScripts`, and what comes by npm is not run before it is looked at.
//
//   npm run tidy:lockfile

interface Lockfile {
  readonly packages: Readonly<Record<string, { engines?: unknown; hasInstallScript?: unknown }>>;
}

const path = join(import.meta.dirname, '../../package-lock.json');
const lockfile: Lockfile = JSON.parse(await readFile(path, 'utf8'));
for (const [folder, entry] of Object.entries(lockfile.packages)) {
  if (folder !== '') delete entry.engines;
  if (folder.includes('node_modules/')) delete entry.hasInstallScript;
}
await writeFile(path, `${JSON.stringify(lockfile, undefined, 2)}\n`);
