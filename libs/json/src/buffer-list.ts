/**
 * Bytes in the chunks in which they arrived. Large ones are never joined, because that doubles the
 * memory. The chunks must not change.
 */
export class BufferList {
  readonly chunks: readonly Buffer[];
  readonly length: number;
  /** The offset at which each chunk starts. */
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

  /** All bytes in one buffer; copies when there are several chunks. */
  whole(): Buffer {
    return this.slice(0, this.length);
  }

  /** A range, as views of the chunks that contain it. */
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

  /** A range as one buffer; copies when it spans several chunks. */
  slice(start: number, end: number): Buffer {
    const [first = nothing, ...more] = this.views(start, end);
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  /**
   * All bytes, with some ranges replaced. The ranges must be in order and not overlap. The result
   * shares the memory of the chunks.
   */
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

  /** The offset of the first such byte at or after `from`; -1 if there is none. */
  indexOf(byte: number, from: number): number {
    for (let index = this.#chunkAt(from); index < this.chunks.length; index++) {
      const start = this.#starts[index] ?? 0;
      const at = this.chunks[index]?.indexOf(byte, Math.max(0, from - start)) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** The offset of the last such byte at or before `from`; -1 if there is none. */
  lastIndexOf(byte: number, from: number): number {
    for (let index = this.#chunkAt(from); index >= 0; index--) {
      const start = this.#starts[index] ?? 0;
      const at = this.chunks[index]?.lastIndexOf(byte, from - start) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** The index of the last chunk that starts at or before an offset. */
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

/**
 * Joins views that are adjacent in memory, like the chunks of a body that never left the process.
 */
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
