import { statfsSync } from 'node:fs';
import { resolve } from 'node:path';

/**
 * Whether an operation failed because the disk of a folder has no room. SQLite calls some of these
 * failures I/O errors.
 */
export function isDiskFull(thrown: unknown, folder: string): boolean {
  if (!(thrown instanceof Error)) return false;
  if ('code' in thrown && (thrown.code === 'ENOSPC' || thrown.code === 'EDQUOT')) return true;
  const code = 'errcode' in thrown ? Number(thrown.errcode) & 0xff : 0;
  return code === sqliteFull || (code === sqliteIoError && (freeBytesOf(folder) ?? enoughBytes) < enoughBytes);
}

/** Says that a disk is full, and what helps. Undefined while it has room, or can't be asked. */
export function fullDiskText(folder: string): string | undefined {
  const free = freeBytesOf(folder);
  return free === undefined || free >= enoughBytes ? undefined : textFor(folder, free);
}

/** The failure of a full disk in words; any other failure as it is. */
export function withDiskRoom(thrown: unknown, folder: string): unknown {
  if (!isDiskFull(thrown, folder)) return thrown;
  return new Error(textFor(folder, freeBytesOf(folder) ?? 0), { cause: thrown });
}

/** Less than a SQLite file needs to be opened: its log and its index. */
const enoughBytes = 128 * 1_024;

function textFor(folder: string, freeBytes: number): string {
  return `the disk of ${resolve(folder)} is full (${freeBytes} bytes free). Usage is kept in memory until there is room, and a restart loses it: free space there, or move the folder`;
}

function freeBytesOf(folder: string): number | undefined {
  try {
    const disk = statfsSync(folder);
    return disk.bavail * disk.bsize;
  } catch {
    return undefined;
  }
}

const sqliteIoError = 10;
const sqliteFull = 13;
