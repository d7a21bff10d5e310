import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

// Removes fields from package-lock.json that npm must not use. Run it after
// `npm install <package>`:
//
// - `engines` of installed packages. npm compares them with the Node that runs npm, and prints a
//   warning for each package that needs a newer one. Here packages run on the Node that
//   package.json names in its dependencies, whatever Node npm runs on: all of these warnings would
//   be wrong.
// - `hasInstallScript`. npm runs the scripts of a package only if the lockfile says that it has
//   some, and none is needed here. So no npm runs any of them: older versions do not know
//   `allowScripts`, and code from npm is not run before it is checked.
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
