import { execFile } from 'node:child_process';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

const fetchTimeoutMs = 10 * 60_000;

/** One commit of a repository on GitHub. */
export interface Snapshot {
  /** "owner/name" */
  readonly repository: string;
  readonly commit: string;
}

/**
 * The files of a repository at a commit, in a folder that later runs use again.
 * @param from the address of another copy of the repository, or its folder on this machine
 * @throws Error of git.
 */
export async function filesOf({ repository, commit }: Snapshot, cacheFolder: string, from?: string): Promise<string> {
  const folder = join(cacheFolder, `${repository.replace('/', '+')}@${commit.slice(0, 12)}`);
  if ((await stat(folder).catch(() => undefined)) !== undefined) return folder;
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const git = (...parameters: readonly string[]) =>
    execute('git', ['-C', unfinished, ...parameters], { timeout: fetchTimeoutMs });
  await git('init', '--quiet');
  await git('fetch', '--quiet', '--depth', '1', from ?? `https://github.com/${repository}.git`, commit);
  await git('-c', 'core.hooksPath=/dev/null', 'checkout', '--quiet', 'FETCH_HEAD');
  await rename(unfinished, folder);
  return folder;
}
