import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Builds the console into ./dist, which the admin service serves, unless ./dist is up to date.
// `npm ci` runs this with any installed Node, so it is plain JavaScript. A gateway works without a
// console, so a failed build is not an error.

const folder = dirname(fileURLToPath(import.meta.url));
const root = join(folder, '../../..');
const mark = join(folder, 'dist/.built-from');

if (existsSync(join(folder, 'index.html'))) await buildUnlessCurrent();

async function buildUnlessCurrent() {
  const sources = digestOf([
    folder,
    ...['libs/presentation', 'proto/gen', 'package-lock.json'].map((path) => join(root, path)),
  ]);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === sources) return;
  process.stdout.write('Building the console.\n');
  try {
    const { build } = await import('vite');
    await build({ root: folder, configFile: join(folder, 'vite.config.ts'), logLevel: 'warn' });
    writeFileSync(mark, sources);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    process.stderr.write(
      `The console could not be built: ${why}\nThe gateway runs without it. Try again with: npm run build:console\n`,
    );
    if (process.argv.includes('--strict')) process.exitCode = 1;
  }
}

/** A digest of the names and contents of all files in these places. */
function digestOf(/** @type {readonly string[]} */ places) {
  const hash = createHash('sha256');
  for (const path of places.flatMap(filesIn)) hash.update(`${path.slice(root.length)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

/** @returns {readonly string[]} */
function filesIn(/** @type {string} */ place) {
  if (!existsSync(place)) return [];
  if (place.endsWith('.json')) return [place];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => !/[/\\](dist|node_modules|test)[/\\]|\.test\.tsx?$/.test(path.slice(place.length)))
    .sort();
}
