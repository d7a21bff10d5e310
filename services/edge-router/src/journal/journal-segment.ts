import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { DiskPulse } from './disk-pulse.ts';
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
  /** Shared by all files on the disk. */
  readonly pulse: DiskPulse;
  readonly sync: JournalSync;
  /** Is told once: nothing is written here after that. */
  readonly onFailed: (fault: unknown) => void;
}

/** A disk that does not answer for so long counts as failed. */
const stalledMs = 10_000;
/** Enough for some hundred lines of a turn. */
const memoryBytes = 128 * 1024;
const maxBytesPerCharacter = 3;

/**
 * One file of the journal, appended to by one process. What is added in the same turn of the event loop, or while a write
 * is under way, goes out in one write: all of it is written, or nothing. After a failure nothing is written here any more, so
 * that only the last line of a file can be torn.
 */
export class JournalSegment {
  readonly path: string;
  readonly #options: JournalSegmentOptions;
  readonly #file: AppendOnlyFile;
  /** What goes out with the next write, and who waits for it. */
  #pending = '';
  #pendingWritten: PromiseWithResolvers<boolean> | undefined;
  #memory: Buffer | undefined;
  #writing: Promise<void> | undefined;
  #syncing: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #takenBytes = 0;
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
    return this.#takenBytes + Buffer.byteLength(this.#pending);
  }

  get failed(): boolean {
    return this.#failed;
  }

  /** Adds text for whose writing nobody waits. */
  add(text: string): void {
    if (this.#failed || this.#closing !== undefined) return;
    this.#pending += text;
    this.#writing ??= this.#writeAll();
  }

  /**
   * Resolves, with whether it could be written, when the text is as safe as the setting asks. Never rejects. Texts that go out
   * together have one promise.
   */
  append(text: string): Promise<boolean> {
    if (this.#failed || this.#closing !== undefined) return notWritten;
    this.add(text);
    this.#pendingWritten ??= Promise.withResolvers();
    return this.#pendingWritten.promise;
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
    while (this.#pending !== '') {
      const [text, written] = [this.#pending, this.#pendingWritten];
      this.#pending = '';
      this.#pendingWritten = undefined;
      const isWritten = !this.#failed && (await this.#write(this.#encoded(text)));
      written?.resolve(isWritten);
    }
    this.#writing = undefined;
  }

  /**
   * One write is under way at a time, so all of them take the same memory: to take and free some for each costs more than to
   * encode. A write that stalls may still read it, but after that nothing is written here.
   */
  #encoded(text: string): Buffer {
    if (text.length * maxBytesPerCharacter > memoryBytes) return Buffer.from(text);
    this.#memory ??= Buffer.allocUnsafeSlow(memoryBytes);
    return this.#memory.subarray(0, this.#memory.write(text));
  }

  async #write(bytes: Buffer): Promise<boolean> {
    const { pulse, sync } = this.#options;
    this.#takenBytes += bytes.length;
    try {
      if (!pulse.tryAtOnce(() => this.#file.appendAtOnce(bytes))) await beforeStalled(this.#file.append(bytes));
      this.#unsynced = true;
      if (sync === 'always') await this.sync();
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
      await this.#options.pulse.ask(() => beforeStalled(this.#file.sync()));
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

const notWritten = Promise.resolve(false);

async function beforeStalled(done: Promise<void>): Promise<void> {
  const stalled = Promise.withResolvers<never>();
  const timer = setTimeout(() => stalled.reject(new Error('the disk does not answer')), stalledMs);
  try {
    await Promise.race([done, stalled.promise]);
  } finally {
    clearTimeout(timer);
  }
}
