import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { PeerPackage } from './peer.ts';

const execute = promisify(execFile);

/**
 * The default folder for what others wrote: outside of the repository, so that its packages are
 * not found.
 */
export function usualCacheFolder(name = 'peers'): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'model-gateway', name);
}

/**
 * The folder with a peer in its `node_modules`. An existing installation of this version is used.
 * @throws Error of npm.
 */
export async function install(peer: PeerPackage, cacheFolder: string): Promise<string> {
  const folder = join(cacheFolder, `${peer.package.replace('/', '+')}@${peer.version}`);
  const manifest = { private: true, dependencies: { [peer.package]: peer.version }, overrides: peer.overrides };
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`;
  if ((await textOf(join(folder, 'installed.json'))) === text) return folder;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), text);
  // A peer's install scripts could do anything to the machine. No peer of the table needs them.
  await execute('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, timeout: 300_000 });
  await writeFile(join(folder, 'installed.json'), text);
  return folder;
}

const packageJson = z.object({ version: z.string() });

/** Packages of this gateway. */
export async function ownVersion(): Promise<string> {
  const text = await readFile(join(import.meta.dirname, '../../package.json'), 'utf8');
  return packageJson.parse(JSON.parse(text)).version;
}

async function textOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined);
}
