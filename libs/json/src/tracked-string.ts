/** Part of a text as byte offsets, `[start, end)`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Strings without escapes that are values of one key, at any depth. */
export interface TrackedStringOptions {
  /** Consists of ASCII characters, and is found where it is written without escapes. */
  readonly key: string;
  readonly minBytes: number;
  readonly maxBytes: number;
}

/** Finds the last such string while a JSON text is scanned in chunks. */
export class TrackedString {
  latest: ByteRange | undefined;
  /** The key with its quotes. */
  readonly #key: Buffer;
  readonly #minBytes: number;
  readonly #maxBytes: number;
  /** The last bytes before the current chunk, because a key may start there. */
  #before = Buffer.alloc(0);
  #chunk: Uint8Array = this.#before;
  #chunkStart = 0;
  /** The next value belongs to the key. */
  #isNext = false;
  /** The start of the current string; undefined when it is none to be tracked. */
  #start: number | undefined;

  constructor({ key, minBytes, maxBytes }: TrackedStringOptions) {
    this.#key = Buffer.from(`"${key}"`);
    this.#minBytes = minBytes;
    this.#maxBytes = maxBytes;
  }

  /** Called before the bytes of a chunk are scanned. */
  onChunk(chunk: Uint8Array, start: number): void {
    this.#before = Buffer.concat([this.#before, this.#chunk.subarray(-this.#key.length)]).subarray(-this.#key.length);
    this.#chunk = chunk;
    this.#chunkStart = start;
  }

  /** Called at the end of every key. */
  onKey(start: number, end: number): void {
    this.#isNext =
      end - start === this.#key.length && this.#key.every((byte, index) => this.#byteAt(start + index) === byte);
  }

  /** Called at the start of every value. */
  onValue(isString: boolean, start: number): void {
    this.#start = this.#isNext && isString ? start + 1 : undefined;
    this.#isNext = false;
  }

  /** Called when a string contains an escape. */
  onEscape(): void {
    this.#start = undefined;
  }

  /** Called at the closing quote of every value that is a string. */
  onStringEnd(end: number): void {
    const start = this.#start;
    if (start === undefined || end - start < this.#minBytes || end - start > this.#maxBytes) return;
    this.latest = { start, end };
  }

  #byteAt(offset: number): number | undefined {
    const inChunk = offset - this.#chunkStart;
    return inChunk >= 0 ? this.#chunk[inChunk] : this.#before[this.#before.length + inChunk];
  }
}
