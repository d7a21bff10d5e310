import { randomUUID } from 'node:crypto';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { JournalDisk } from './journal-disk.ts';
import { lockName, newLockName } from './journal-names.ts';

/**
 * The right to a journal's segments. Processes that share a folder tell by it whose segments are whose, and whose owner
 * is dead. It ends with its process, so there is no time at which a killed process still seems to live.
 */
export class JournalLease {
  readonly owner: string;
  readonly #path: string;
  readonly #lock: Disposable;

  /** A new owner for this process. */
  static async take(folder: string, disk: JournalDisk): Promise<JournalLease> {
    const owner = randomUUID();
    const path = join(folder, newLockName(owner));
    const lock = disk.lockFile(path);
    if (lock === undefined) throw new Error(`another process holds ${path}`);
    try {
      // It is seen by others only now that it is locked, so that nobody takes its owner for dead.
      await rename(path, join(folder, lockName(owner)));
      return new JournalLease(owner, join(folder, lockName(owner)), lock);
    } catch (fault) {
      lock[Symbol.dispose]();
      throw fault;
    }
  }

  /** The lease of an owner who is dead, to whom it falls first; undefined while he lives or another has claimed it. */
  static async claim(folder: string, owner: string, disk: JournalDisk): Promise<JournalLease | undefined> {
    const path = join(folder, lockName(owner));
    const before = await inodeOf(path);
    const lock = disk.lockFile(path);
    if (lock === undefined) return undefined;
    // Somebody else may have done the dead owner's work and removed this very file before it was locked here.
    if (before !== undefined && before === (await inodeOf(path))) return new JournalLease(owner, path, lock);
    lock[Symbol.dispose]();
    return before === undefined ? JournalLease.claim(folder, owner, disk) : undefined;
  }

  private constructor(owner: string, path: string, lock: Disposable) {
    this.owner = owner;
    this.#path = path;
    this.#lock = lock;
  }

  /** Leaves the segments to the next who claims them. */
  release(): void {
    this.#lock[Symbol.dispose]();
  }

  /** Ends an owner who has no segments left. */
  async end(): Promise<void> {
    try {
      await rm(this.#path, { force: true });
    } finally {
      this.release();
    }
  }
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined;
    throw fault;
  }
}
