import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBase } from './image-smoke/base-image.ts';
import { ImageBuilder } from './image-smoke/image-builder.ts';
import { checkMachine } from './image-smoke/machine.ts';
import { say } from './image-smoke/run-command.ts';

// Builds the image on a Debian machine that has neither a registry nor a container engine, and
// tries it. The base is made of Debian's packages and of the Node in node_modules; buildah makes
// the rest with the Dockerfile. Then the services run from the image as on a platform: as its user,
// on a read-only root. Leaves nothing behind.
//
//   node deploy/scripts/image-smoke.ts [--install] [--mirror <url>]
//
// - `--install` installs missing programs (mmdebstrap, buildah) with apt-get first. Without it the
//   script names them.
// - `--mirror` is a Debian mirror to use instead of mmdebstrap's own choice.

const wholeRunMs = 20 * 60_000;
const neededGib = 5;
const repository = join(import.meta.dirname, '../..');

const { values } = parseArgs({ options: { install: { type: 'boolean', default: false }, mirror: { type: 'string' } } });
const interrupted = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort(new Error(name)));
const signal = AbortSignal.any([interrupted.signal, AbortSignal.timeout(wholeRunMs)]);

try {
  await checkMachine({ install: values.install, signal });
  await checkDisk();
  await buildAndTry();
  say('the image is fine');
} catch (thrown) {
  process.stderr.write(`image-smoke: ${thrown instanceof Error ? thrown.message : thrown}\n`);
  process.exitCode = 1;
}

async function checkDisk(): Promise<void> {
  const { bavail, bsize } = await statfs(tmpdir());
  if (bavail * bsize < neededGib * 2 ** 30)
    throw new Error(`${tmpdir()} has less than ${neededGib} GiB free. Set TMPDIR to a folder that has.`);
}

async function buildAndTry(): Promise<void> {
  await using builder = await ImageBuilder.open(signal);
  const base = await buildBase(builder, { mirror: values.mirror });
  say(`base: Debian 12 with Node ${base.nodeVersion}, ${await builder.sizeOf(base.image)}`);
  const image = await builder.build(repository, base.image);
  say(`image: ${await builder.sizeOf(image)} with its base`);
  // On a network of its own: default ports are free there, and it does not reach the outside. All
  // of its processes end with it.
  await builder.run('unshare', [
    ...[
      '--net',
      '--pid',
      '--fork',
      '--kill-child',
      '--mount-proc',
      process.execPath,
      join(import.meta.dirname, 'image-smoke/try-image.ts'),
    ],
    ...[await builder.filesOf(image), JSON.stringify(await builder.configOf(image)), builder.folder],
  ]);
}
