import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { nodeModules, useBundledLibraries } from './bundled-libraries.js';

// Plain JavaScript that any Node can run, because the sources need a new one.

const needed = 26;
if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `The gateway needs Node ${needed}, and this is Node ${process.versions.node}. npm ci brings it along for Linux and macOS, as node_modules/.bin/node: start with npm start or npx gatewayctl. Elsewhere install it from https://nodejs.org.\n`,
  );
  process.exitCode = 1;
} else {
  // A gateway starts once: it takes everything from its source.
  if (process.argv[2] !== 'start') startFast();
  await import('../src/main.ts');
}

function startFast() {
  // Node keeps compiled code, and uses it as long as the source has the same content. The folder is
  // private to this installation: code in a folder that others can write to could be theirs.
  module.enableCompileCache(fileURLToPath(new URL('.cache/gatewayctl', nodeModules)));
  useBundledLibraries();
}
