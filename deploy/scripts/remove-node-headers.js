import { existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Headers of Node, 60 MB, are for building native packages. None is built here. `npm ci` runs this with whatever Node is installed,
// so it is plain JavaScript.

const installed = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules');
const names = existsSync(installed) ? readdirSync(installed) : [];
for (const name of names.filter((each) => /^node-(bin-)?(darwin|linux)-/.test(each))) {
  rmSync(join(installed, name, 'include'), { recursive: true, force: true });
}
