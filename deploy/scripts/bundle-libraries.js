import { rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bundleFolder, digestOfInstalled, listFile, nodeModules } from '@gateway/gatewayctl/bundled-libraries';

// Bundles the libraries that every command of gatewayctl loads, because opening 150 files is half the time of a
// short command. Our own sources run as they are. `npm ci` runs this with any installed Node, so it
// is plain JavaScript. Commands work without the bundle, so a failed build is not an error.

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
  rmSync(bundleFolder, { recursive: true, force: true });
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
    cwd: fileURLToPath(new URL('..', nodeModules)),
    platform: 'node',
    input: Object.fromEntries(libraries.map((library) => [nameOf(library), library])),
  });
  await bundle.write({
    dir: fileURLToPath(bundleFolder),
    entryFileNames: '[name].mjs',
    chunkFileNames: 'shared/[name].mjs',
  });
  await bundle.close();
  const files = Object.fromEntries(libraries.map((library) => [library, `${nameOf(library)}.mjs`]));
  // Last, so that an interrupted build leaves nothing that would be used.
  writeFileSync(listFile, JSON.stringify({ installed: digestOfInstalled(), files }));
}
