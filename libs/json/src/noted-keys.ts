/**
 * Notes where one key of a JSON text ends, at any depth, while the text arrives: whoever looks for it needs not search all of
 * the text once more.
 */
export class NotedKeys {
  /** Where the last ones end, in the order of the text. */
  readonly ends: number[] = [];
  /** As it is written, with its quotes. */
  readonly #key: Buffer;
  /** The last bytes before the chunk that is being read: a key may begin there. */
  #before = Buffer.alloc(0);
  #chunk: Uint8Array = this.#before;
  #chunkStart = 0;

  constructor(key: string) {
    this.#key = Buffer.from(`"${key}"`);
  }

  /** Bytes follow. */
  onChunk(chunk: Uint8Array, start: number): void {
    this.#before = Buffer.concat([this.#before, this.#chunk.subarray(-this.#key.length)]).subarray(-this.#key.length);
    this.#chunk = chunk;
    this.#chunkStart = start;
  }

  /** Some key has ended. */
  onKey(start: number, end: number): void {
    if (end - start !== this.#key.length) return;
    for (let index = 0; index < this.#key.length; index++) {
      if (this.#byteAt(start + index) !== this.#key[index]) return;
    }
    this.ends.push(end);
    if (this.ends.length > mostNoted) this.ends.shift();
  }

  #byteAt(place: number): number | undefined {
    const inChunk = place - this.#chunkStart;
    return inChunk >= 0 ? this.#chunk[inChunk] : this.#before[this.#before.length + inChunk];
  }
}

/** A text may be full of them. */
const mostNoted = 100;
