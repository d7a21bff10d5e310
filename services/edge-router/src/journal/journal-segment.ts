import { type FileHandle, open, unlink } from 'node:fs/promises';

interface PendingLine {
  readonly line: string;
  readonly written: () => void;
  readonly failed: (fault: unknown) => void;
}

/** One append-only file. Lines that are appended while a write is under way go out together with the next write. */
export class JournalSegment {
  readonly path: string;
  readonly #file: FileHandle;
  #pending: PendingLine[] = [];
  #writing: Promise<void> | undefined;
  #sizeBytes = 0;

  static async create(path: string): Promise<JournalSegment> {
    return new JournalSegment(path, await open(path, 'ax', 0o600));
  }

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Resolves when the line has reached the operating system: from then on it survives the death of this process. */
  append(line: string): Promise<void> {
    this.#sizeBytes += Buffer.byteLength(line);
    return new Promise((written, failed) => {
      this.#pending.push({ line, written, failed });
      this.#writing ??= this.#writeAll();
    });
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  /** Closes and removes the file: everything in it has been delivered. */
  async remove(): Promise<void> {
    await this.close();
    await unlink(this.path);
  }

  async #writeAll(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      try {
        await this.#file.appendFile(batch.map(({ line }) => line).join(''));
        for (const { written } of batch) written();
      } catch (fault) {
        for (const { failed } of batch) failed(fault);
      }
    }
    this.#writing = undefined;
  }
}
