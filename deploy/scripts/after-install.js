import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeNodeRun } from './runnable-node.js';

// Makes the Node that npm installed ready. `npm ci` runs this with whatever Node is installed, so it is plain JavaScript.

const installed = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules');
const names = existsSync(installed) ? readdirSync(installed) : [];
for (const name of names.filter((each) => /^node-(bin-)?(darwin|linux)-/.test(each))) {
  const folder = join(installed, name);
  // Headers, 60 MB, are for building native packages. None is built here.
  rmSync(join(folder, 'include'), { recursive: true, force: true });
  const problem = await makeNodeRun(folder);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n`);
    process.exitCode = 1;
  }
}
