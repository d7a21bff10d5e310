// Plain JavaScript that any Node can run, because the sources need a new one.

const needed = 26;
if (Number.parseInt(process.versions.node, 10) < needed) {
  process.stderr.write(
    `The gateway needs Node ${needed}, and this is Node ${process.versions.node}. npm ci brings it along for Linux and macOS, as node_modules/.bin/node: start with npm start or npx gatewayctl. Elsewhere install it from https://nodejs.org.\n`,
  );
  process.exitCode = 1;
} else {
  await import('../src/main.ts');
}
