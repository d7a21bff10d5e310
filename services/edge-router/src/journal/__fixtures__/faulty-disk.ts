import { setImmediate as turn } from 'node:timers/promises';
import { type AppendOnlyFile, type JournalDisk, localDisk } from '../journal-disk.ts';

/** The disk as one process sees it. It can be full, and its process can be killed. */
export class FaultyDisk implements JournalDisk {
  /** Nothing can be written: a file takes a part of the text and fails. Files can be made, as an empty one takes no room. */
  isFull = false;
  makesNoFiles = false;
  /** What was written can not be forced onto the disk. */
  failsToSync = false;
  syncs = 0;
  /** Writes during which nothing else happened in the process. */
  writesAtOnce = 0;
  #killed = false;
  #underWay = 0;
  readonly #locks: Disposable[] = [];

  async createFile(path: string): Promise<AppendOnlyFile> {
    this.#mayMakeFile();
    const file = await this.#count(() => localDisk.createFile(path));
    return {
      append: (bytes) => this.#count(() => this.#append(file, bytes)),
      appendAtOnce: (bytes) => {
        this.#mustLive();
        this.writesAtOnce += 1;
        file.appendAtOnce(this.#fitting(bytes));
        this.#mustFit();
      },
      sync: async () => {
        this.#mustLive();
        this.syncs += 1;
        if (this.failsToSync) throw new Error('input/output error');
      },
      close: () => file.close(),
    };
  }

  lockFile(path: string): Disposable | undefined {
    this.#mayMakeFile();
    const lock = localDisk.lockFile(path);
    if (lock !== undefined) this.#locks.push(lock);
    return lock;
  }

  /** The process is gone: nothing of it is written any more, and its locks are free. */
  kill(): void {
    this.#killed = true;
    for (const lock of this.#locks) {
      try {
        lock[Symbol.dispose]();
      } catch {
        // It had been given back before.
      }
    }
  }

  /** Resolves when everything that was to be written has been tried. */
  async whenQuiet(): Promise<void> {
    do await turn();
    while (this.#underWay > 0);
  }

  async #append(file: AppendOnlyFile, bytes: Uint8Array): Promise<void> {
    this.#mustLive();
    await file.append(this.#fitting(bytes));
    this.#mustFit();
  }

  #fitting(bytes: Uint8Array): Uint8Array {
    return this.isFull ? bytes.subarray(0, bytes.length / 2) : bytes;
  }

  #mustFit(): void {
    if (this.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
  }

  #mayMakeFile(): void {
    this.#mustLive();
    if (this.makesNoFiles) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
  }

  #mustLive(): void {
    if (this.#killed) throw new Error('this process is dead');
  }

  async #count<T>(work: () => Promise<T>): Promise<T> {
    this.#underWay += 1;
    try {
      return await work();
    } finally {
      this.#underWay -= 1;
    }
  }
}
