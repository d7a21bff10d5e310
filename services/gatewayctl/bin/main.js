import module from 'node:module';
import { fileURLToPath } from 'node:url';

// Plain JavaScript that any Node can run, because the sources need a new one.

const needed = 26;
if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `The gateway needs Node ${needed}, and this is Node ${process.versions.node}. npm ci brings it along for Linux and macOS, as node_modules/.bin/node: start with npm start or npx gatewayctl. Elsewhere install it from https://nodejs.org.\n`,
  );
  process.exitCode = 1;
} else {
  // Node keeps compiled code by the content of its source. It writes new code when the process ends,
  // where a gateway that has drained must not wait. The folder is private to this installation: code
  // in a folder that others can write to could be theirs.
  if (process.argv[2] !== 'start') {
    module.enableCompileCache?.(fileURLToPath(new URL('../../../node_modules/.cache/gatewayctl', import.meta.url)));
  }
  await import('../src/main.ts');
}
