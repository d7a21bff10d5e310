import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageBuilder } from './image-builder.ts';
import { pathOf } from './machine.ts';
import { runCommand, say } from './run-command.ts';

export interface BaseImage {
  readonly image: string;
  readonly nodeVersion: string;
}

/** A replacement for the official Node image: Debian 12, with Node and npm in the same places. */
export async function buildBase(
  builder: ImageBuilder,
  { mirror }: { readonly mirror: string | undefined },
): Promise<BaseImage> {
  say('making a Debian 12');
  const tarball = join(builder.folder, 'debian.tar');
  const debian = ['--mode=root', '--variant=essential', `--include=${packages.join(',')}`, 'bookworm', tarball];
  const { signal } = builder;
  await runCommand('mmdebstrap', mirror === undefined ? debian : [...debian, mirror], { signal, timeoutMs: 600_000 });

  const image = 'localhost/node-base:smoke';
  const container = (await builder.buildah(['from', 'scratch'])).trim();
  await builder.buildah(['add', '--quiet', container, tarball, '/']);
  await builder.buildah(['copy', container, process.execPath, '/usr/local/bin/node']);
  await builder.buildah(['copy', container, await folderOfNpm(), '/usr/local/lib/node_modules/npm']);
  const run = ['run', '--isolation', 'chroot', container, '--'];
  await builder.buildah([...run, 'ln', '-s', '../lib/node_modules/npm/bin/npm-cli.js', '/usr/local/bin/npm']);
  const nodeVersion = (await builder.buildah([...run, 'node', '--version'])).trim();
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  await builder.buildah(['config', '--env', path, container]);
  await builder.buildah(['commit', '--quiet', '--rm', container, image]);
  return { image, nodeVersion };
}

/** Node's binary is linked with the first two. */
const packages = ['libatomic1', 'libstdc++6', 'ca-certificates'];

/** `npm` links to npm's `bin/npm-cli.js`. */
async function folderOfNpm(): Promise<string> {
  return dirname(dirname(await realpath((await pathOf('npm')) ?? 'npm')));
}
