import { existsSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeNodeRun } from './runnable-node.js';

// Prepares the installed Node. `npm ci` runs this with any installed Node, so it is plain
// JavaScript.

const installed = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules');
const names = existsSync(installed) ? readdirSync(installed) : [];
for (const name of names.filter((each) => /^node-(bin-)?(darwin|linux)-/.test(each))) {
  const folder = join(installed, name);
  // Headers, 60 MB, are for building native packages. None is built here.
  rmSync(join(folder, 'include'), { recursive: true, force: true });
  // npm 10 removes this link together with the packages for other machines, whose programs have the
  // same name.
  const link = join(installed, '.bin/node');
  if (!existsSync(link)) {
    rmSync(link, { force: true });
    symlinkSync(`../${name}/bin/node`, link);
  }
  const problem = await makeNodeRun(folder);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
