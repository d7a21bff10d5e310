/**
 * Bytes in the chunks in which they came. Large ones are never joined: that takes as much memory again. The chunks must not
 * change.
 */
export class BufferList {
  readonly chunks: readonly Buffer[];
  readonly length: number;
  /** Where each chunk begins. */
  readonly #starts: readonly number[];

  constructor(chunks: readonly Uint8Array[]) {
    this.chunks = joinNeighbours(chunks);
    let length = 0;
    this.#starts = this.chunks.map((chunk) => {
      length += chunk.length;
      return length - chunk.length;
    });
    this.length = length;
  }

  /** All of them in one buffer: a copy when there are several chunks. */
  whole(): Buffer {
    return this.slice(0, this.length);
  }

  /** A range as views of the chunks that it lies in. */
  views(start: number, end: number): readonly Buffer[] {
    const views: Buffer[] = [];
    for (let index = this.#chunkAt(start); index < this.chunks.length; index++) {
      const chunkStart = this.#starts[index] ?? 0;
      if (chunkStart >= end) break;
      const view = this.chunks[index]?.subarray(Math.max(0, start - chunkStart), end - chunkStart);
      if (view !== undefined) views.push(view);
    }
    return views;
  }

  /** A range as one buffer: a copy when it lies in several chunks. */
  slice(start: number, end: number): Buffer {
    const [first = nothing, ...more] = this.views(start, end);
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  /** All of them with some ranges replaced, which are in order and don't overlap. In chunks, none of which is a copy of these. */
  spliced(replacements: readonly Replacement[]): readonly Buffer[] {
    let copied = 0;
    const chunks = replacements.flatMap(({ start, end, text }) => {
      const kept = this.views(copied, start);
      copied = end;
      return [...kept, Buffer.from(text)];
    });
    return [...chunks, ...this.views(copied, this.length)];
  }

  /** A range as UTF-8. */
  text(start: number, end: number): string {
    return this.slice(start, end).toString();
  }

  /** The byte at an offset. */
  at(offset: number): number | undefined {
    const index = this.#chunkAt(offset);
    return this.chunks[index]?.[offset - (this.#starts[index] ?? 0)];
  }

  /** The offset of a byte, at `from` or after it; -1: not there. */
  indexOf(byte: number, from: number): number {
    for (let index = this.#chunkAt(from); index < this.chunks.length; index++) {
      const start = this.#starts[index] ?? 0;
      const at = this.chunks[index]?.indexOf(byte, Math.max(0, from - start)) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** The offset of a byte, at `from` or before it; -1: not there. */
  lastIndexOf(byte: number, from: number): number {
    for (let index = this.#chunkAt(from); index >= 0; index--) {
      const start = this.#starts[index] ?? 0;
      const at = this.chunks[index]?.lastIndexOf(byte, from - start) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** The last chunk that begins at an offset or before it. */
  #chunkAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Views that follow each other in memory become one, as the chunks of a body do that never left the process. */
function joinNeighbours(chunks: readonly Uint8Array[]): readonly Buffer[] {
  const joined: Buffer[] = [];
  for (const chunk of chunks) {
    if (chunk.length === 0) continue;
    const last = joined.at(-1);
    if (last !== undefined && last.buffer === chunk.buffer && last.byteOffset + last.length === chunk.byteOffset) {
      joined[joined.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + chunk.length);
    } else {
      joined.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    }
  }
  return joined;
}

const nothing = Buffer.alloc(0);
