import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cancelTimer, startTimer, type Timer } from '@gateway/time';
import { ConfigError } from './env-reader.ts';

/** How long a folder may take to answer: a folder on a network may be unreachable. */
const defaultTimeoutMs = 5_000;
/** A process that only waits for the folder is far below it. */
const busyShare = 0.2;

/**
 * Ensures that the folder in a setting exists and is writable. A new folder is accessible to this
 * process's user only.
 * @throws ConfigError
 */
export async function openFolder(setting: string, path: string): Promise<void> {
  await answeringInTime(setting, path, tryToWrite(setting, path));
}

/**
 * The result of a disk operation in such a folder.
 * @throws ConfigError when the operation takes too long.
 */
export async function answeringInTime<T>(
  setting: string,
  path: string,
  answer: Promise<T>,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const problem = `${setting}: ${resolve(path)} did not respond within ${timeoutMs / 1_000} s. Is it a pipe, or on an unreachable disk or mount?`;
  let timer: Timer | undefined;
  const wait = () => {
    const before = performance.eventLoopUtilization();
    timer = startTimer(() => {
      // A process that was busy, as it is while it starts, could not receive the answer.
      if (performance.eventLoopUtilization(before).utilization > busyShare) wait();
      else reject(new ConfigError([problem]));
    }, timeoutMs);
  };
  wait();
  return await Promise.race([answer, late]).finally(() => cancelTimer(timer));
}

async function tryToWrite(setting: string, path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await rmdir(await mkdtemp(join(path, '.try-')));
  } catch (thrown) {
    const code = String(codeOf(thrown) ?? '');
    // A full disk is not an error in the setting.
    if (code === 'ENOSPC' || code === 'EDQUOT') return;
    throw new ConfigError([
      `${setting}: ${problemOf(code)} (${code}): ${resolve(path)}. Set it to a folder that the user of this process can write to, for example ./data.`,
    ]);
  }
}

function problemOf(code: string): string {
  if (['EEXIST', 'ENOTDIR'].includes(code)) return 'the path is not a folder, or a part of it is not';
  if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return 'the folder is not writable';
  return 'the folder cannot be used';
}

/**
 * Makes a file private, or creates a private one. An existing file is not opened: closing it would
 * release the locks that SQLite holds on it.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600));
  } catch (thrown) {
    if (codeOf(thrown) !== 'EEXIST') throw thrown;
    narrowMode(path);
  }
}

/** Makes a SQLite database private, with the files that a process may have left beside it. */
export function makePrivateDatabase(path: string): void {
  makePrivateFile(path);
  for (const end of ['-wal', '-shm']) narrowMode(`${path}${end}`);
}

/** Removes the permissions of other users from a file or folder, if it exists. */
export function narrowMode(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & rightsOfOthers) === 0) return;
  try {
    chmodSync(path, found.mode & 0o7777 & ~rightsOfOthers);
  } catch (thrown) {
    // The file belongs to another user who deliberately gave this one access, or another process
    // has just removed it.
    if (codeOf(thrown) !== 'EPERM' && codeOf(thrown) !== 'ENOENT') throw thrown;
  }
}

const rightsOfOthers = 0o077;

function codeOf(thrown: unknown): unknown {
  return thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
}
