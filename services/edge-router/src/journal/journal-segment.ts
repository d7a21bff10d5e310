import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { AppendOnlyFile, JournalDisk } from './journal-disk.ts';

/**
 * When what was written is forced onto the disk. Whatever is chosen, it survives the death of the process as soon as it
 * is written; this is about the loss of power.
 * - `none`: when the operating system sees fit, some 30 seconds later.
 * - `interval`: once a second, behind the requests.
 * - `always`: before a request's end is told to its client.
 */
export type JournalSync = (typeof journalSyncs)[number];
export const journalSyncs = ['none', 'interval', 'always'] as const;

export interface JournalSegmentOptions {
  readonly disk: JournalDisk;
  readonly sync: JournalSync;
  /** Is told once: nothing is written here after that. */
  readonly onFailed: (fault: unknown) => void;
}

/** What goes out with the next write. Everything in it is written, or nothing. */
interface Batch {
  text: string;
  readonly written: PromiseWithResolvers<boolean>;
}

/** A disk that does not answer for so long counts as failed. */
const stalledMs = 10_000;

/**
 * One file of the journal, appended to by one process. What is appended in the same turn of the event loop, or while a write
 * is under way, goes out in one write. After a failure nothing is written here any more, so that only the last line of a
 * file can be torn.
 */
export class JournalSegment {
  readonly path: string;
  readonly #options: JournalSegmentOptions;
  readonly #file: AppendOnlyFile;
  #pending: Batch | undefined;
  #writing: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #sizeBytes = 0;
  #unsynced = false;
  #failed = false;

  static async create(path: string, options: JournalSegmentOptions): Promise<JournalSegment> {
    return new JournalSegment(path, await options.disk.createFile(path), options);
  }

  private constructor(path: string, file: AppendOnlyFile, options: JournalSegmentOptions) {
    this.path = path;
    this.#file = file;
    this.#options = options;
  }

  /** What is on its way to the file included. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** Resolves, with whether it could be written, when the text is as safe as the setting asks. Never rejects. */
  append(text: string): Promise<boolean> {
    if (this.#failed || this.#closing !== undefined) return Promise.resolve(false);
    this.#sizeBytes += Buffer.byteLength(text);
    this.#pending ??= { text: '', written: Promise.withResolvers() };
    this.#pending.text += text;
    this.#writing ??= this.#writeAll();
    return this.#pending.written.promise;
  }

  /** Forces what was written so far onto the disk. Never rejects. */
  sync(): Promise<void> {
    this.#syncing ??= this.#syncNow().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  /** Writes what is pending, and closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writing;
    if (this.#options.sync !== 'none') await this.sync();
    // A failed file was closed then.
    if (!this.#failed) await this.#file.close().catch(this.#options.onFailed);
  }

  async #writeAll(): Promise<void> {
    await endOfTurn();
    while (this.#pending !== undefined) {
      const { text, written } = this.#pending;
      this.#pending = undefined;
      written.resolve(await this.#write(text));
    }
    this.#writing = undefined;
  }

  async #write(text: string): Promise<boolean> {
    if (this.#failed) return false;
    try {
      await beforeStalled(this.#file.append(text));
      this.#unsynced = true;
      if (this.#options.sync === 'always') await this.sync();
      return !this.#failed;
    } catch (fault) {
      this.#fail(fault);
      return false;
    }
  }

  async #syncNow(): Promise<void> {
    if (!this.#unsynced || this.#failed) return;
    this.#unsynced = false;
    try {
      await beforeStalled(this.#file.sync());
    } catch (fault) {
      // What the disk refused once it may forget without a word: nothing more is entrusted to this file.
      this.#fail(fault);
    }
  }

  #fail(fault: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#options.onFailed(fault);
    this.#file.close().catch(() => undefined);
  }
}

async function beforeStalled(done: Promise<void>): Promise<void> {
  const stalled = Promise.withResolvers<never>();
  const timer = setTimeout(() => stalled.reject(new Error('the disk does not answer')), stalledMs);
  try {
    await Promise.race([done, stalled.promise]);
  } finally {
    clearTimeout(timer);
  }
}
