import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand, say } from './run-command.ts';

/** Programs that the script calls, and their Debian packages. */
const needed: Readonly<Record<string, string>> = {
  mmdebstrap: 'mmdebstrap',
  buildah: 'buildah',
  npm: 'npm',
  unshare: 'util-linux',
  mount: 'mount',
  ip: 'iproute2',
};

/** @throws Error with the remedy if this machine can't do it. */
export async function checkMachine({ install, signal }: { install: boolean; signal: AbortSignal }): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new Error('root is needed, to make a root file system and to mount it. Run it with sudo.');
  const missing = await missingPackages();
  if (missing.length === 0) return;
  const command = ['apt-get', 'install', '--yes', '--no-install-recommends', ...missing];
  if (!install)
    throw new Error(`${missing.join(', ')} missing. Run: ${command.join(' ')}; or this script with --install.`);
  say(`installing ${missing.join(', ')}`);
  await runCommand('apt-get', ['update'], { signal, timeoutMs: 120_000 });
  await runCommand('apt-get', command.slice(1), { signal, timeoutMs: 300_000 });
}

async function missingPackages(): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(needed).map(async ([program, name]) => ((await pathOf(program)) === undefined ? [name] : [])),
  );
  return found.flat();
}

/** The path of a program, looked up as a shell would. */
export async function pathOf(program: string): Promise<string | undefined> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return undefined;
}
