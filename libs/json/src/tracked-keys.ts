/** Records where one key of a JSON text ends, at any depth, while the text arrives in chunks. */
export class TrackedKeys {
  /** The offsets of the last ends, in the order of the text. */
  readonly ends: number[] = [];
  /** The key with its quotes. */
  readonly #key: Buffer;
  /** The last bytes before the current chunk, because a key may start there. */
  #before = Buffer.alloc(0);
  #chunk: Uint8Array = this.#before;
  #chunkStart = 0;

  constructor(key: string) {
    this.#key = Buffer.from(`"${key}"`);
  }

  /** Called before the bytes of a chunk are scanned. */
  onChunk(chunk: Uint8Array, start: number): void {
    this.#before = Buffer.concat([this.#before, this.#chunk.subarray(-this.#key.length)]).subarray(-this.#key.length);
    this.#chunk = chunk;
    this.#chunkStart = start;
  }

  /** Called at the end of every key. */
  onKey(start: number, end: number): void {
    if (end - start !== this.#key.length) return;
    if (this.#key.some((byte, index) => this.#byteAt(start + index) !== byte)) return;
    this.ends.push(end);
    if (this.ends.length > maxTracked) this.ends.shift();
  }

  #byteAt(offset: number): number | undefined {
    const inChunk = offset - this.#chunkStart;
    return inChunk >= 0 ? this.#chunk[inChunk] : this.#before[this.#before.length + inChunk];
  }
}

/** A text may contain the key any number of times. */
const maxTracked = 100;
