import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Bundles the libraries that every command of gatewayctl loads, because opening 150 files is half the time of a
// short command. Our own sources run as they are. `npm ci` runs this with any installed Node, so it
// is plain JavaScript. Commands work without the bundle, so a failed build is not an error.

const root = fileURLToPath(new URL('../..', import.meta.url));
/** services/gatewayctl/bin/bundled-libraries.js reads it. */
const folder = join(root, 'node_modules/.cache/gatewayctl-libraries');

/** Everything that is imported of these packages, so that no part of them is loaded twice. */
const libraries = [
  '@bufbuild/protobuf',
  '@bufbuild/protobuf/codegenv2',
  '@bufbuild/protobuf/reflect',
  '@bufbuild/protobuf/wire',
  '@bufbuild/protobuf/wkt',
  '@connectrpc/connect',
  '@connectrpc/connect-node',
  'commander',
];

try {
  rmSync(folder, { recursive: true, force: true });
  await buildBundle();
} catch (thrown) {
  // Without development packages there is no bundler.
  if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND')) {
    process.stderr.write(`gatewayctl starts more slowly: its libraries could not be bundled: ${thrown}\n`);
  }
}

async function buildBundle() {
  const { rolldown } = await import('rolldown');
  const nameOf = (/** @type {string} */ library) => library.replaceAll('/', '-');
  const bundle = await rolldown({
    cwd: root,
    platform: 'node',
    input: Object.fromEntries(libraries.map((library) => [nameOf(library), library])),
  });
  await bundle.write({
    dir: folder,
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared/[name].mjs',
  });
  await bundle.close();
  const files = Object.fromEntries(libraries.map((library) => [library, `${nameOf(library)}.mjs`]));
  // Last, so that an interrupted build leaves nothing that would be used.
  const list = readFileSync(join(root, 'node_modules/.package-lock.json'));
  const installed = createHash('sha256').update(list).digest('hex');
  writeFileSync(join(folder, 'libraries.json'), JSON.stringify({ installed, files }));
}
