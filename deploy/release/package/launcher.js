#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants as os } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// The program of the package, in plain JavaScript that any Node can run: it finds a Node that is
// new enough, and starts the gateway or its command line with it.
//
//   npx model-gateway                 starts the gateway, like model-gateway start
//   npx model-gateway init            writes a commented gateway.yaml
//   npx model-gateway <command> …     everything that gatewayctl can do

const needed = 26;
const packageFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const given = process.argv.slice(2);

if (given[0] === 'init') init();
else run(given.length === 0 ? ['start'] : given);

/** Never replaces a file. */
function init() {
  const file = 'gateway.yaml';
  try {
    // Exclusive: it follows no link either, so that nothing is written anywhere else.
    writeFileSync(file, readFileSync(join(packageFolder, file)), { flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return fail(`${file} exists already, and stays as it is.`);
  }
  process.stdout.write(`Wrote ${file}. Read it, then start the gateway with it:\n`);
  process.stdout.write(`GATEWAY_CONFIG=./${file} npx model-gateway\n`);
}

/** @param {readonly string[]} args */
function run(args) {
  const node = newNode();
  if (node === undefined) {
    return fail(
      `The gateway needs Node ${needed}, and this is Node ${process.versions.node}. Its package brings Node for Linux with glibc and for macOS, unless npm left optional packages out. Install Node ${needed} from https://nodejs.org.`,
    );
  }
  const program = join(packageFolder, 'programs/gatewayctl/main.mjs');
  const child = spawn(node, [program, ...args], { stdio: 'inherit' });
  // A terminal signals the child as well; a supervisor signals this process only.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => fail(`Node does not start: ${error.message}`));
  child.on('exit', (code, signal) => {
    if (code === 127) process.stderr.write(`${missingLibrary}\n`);
    process.exitCode = code ?? 128 + (signal === null ? 0 : os.signals[signal]);
  });
}

const missingLibrary =
  'If libatomic.so.1 is missing, install it: apt-get install libatomic1, or dnf install libatomic.';

/** This Node, or the one that the package has for this platform. */
function newNode() {
  if (Number.parseInt(process.versions.node, 10) >= needed) return process.execPath;
  const { resolve } = createRequire(import.meta.url);
  for (const name of ['node', 'node-bin']) {
    try {
      const manifest = resolve(`${name}-${process.platform}-${process.arch}/package.json`);
      return join(dirname(manifest), 'bin/node');
    } catch {
      // npm installs only the package of this platform.
    }
  }
  return undefined;
}

/** @param {string} text */
function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
}
