/**
 * Bytes in the pieces in which they came. Large ones are never joined: that takes as much memory again, and a copy in one go
 * or in many turns. Most have one piece. The pieces must not change.
 */
export class PiecedBytes {
  readonly pieces: readonly Buffer[];
  readonly length: number;
  /** The one piece that holds everything. */
  readonly #only: Buffer | undefined;
  /** Where each piece begins, when there are several. */
  readonly #starts: readonly number[];

  constructor(pieces: readonly Uint8Array[]) {
    const joined = pieces.length > 1 ? joinedViews(pieces) : pieces;
    if (joined.length > 1) {
      this.pieces = joined.map(asBuffer);
      this.#starts = startsOf(this.pieces);
      this.length = this.pieces.reduce((sum, { length }) => sum + length, 0);
    } else {
      this.#only = asBuffer(joined[0] ?? nothing);
      this.pieces = [this.#only];
      this.#starts = onlyStart;
      this.length = this.#only.length;
    }
  }

  /** All of them in one buffer: a copy when there are several pieces. */
  whole(): Buffer {
    return this.#only ?? Buffer.concat(this.pieces);
  }

  /** A stretch as views of the pieces that it lies in. */
  views(start: number, end: number): readonly Buffer[] {
    if (this.#only !== undefined) return [this.#only.subarray(start, end)];
    const views: Buffer[] = [];
    for (let index = this.#pieceAt(start); index < this.pieces.length; index++) {
      const pieceStart = this.#starts[index] ?? 0;
      if (pieceStart >= end) break;
      const view = this.pieces[index]?.subarray(Math.max(0, start - pieceStart), end - pieceStart);
      if (view !== undefined) views.push(view);
    }
    return views;
  }

  /** A stretch as one buffer: a copy when it lies in several pieces. */
  slice(start: number, end: number): Buffer {
    if (this.#only !== undefined) return this.#only.subarray(start, end);
    const views = this.views(start, end);
    const [first = nothing] = views;
    return views.length <= 1 ? first : Buffer.concat(views);
  }

  /** What a stretch says as UTF-8. */
  text(start: number, end: number): string {
    return this.#only?.toString('utf8', start, end) ?? this.slice(start, end).toString();
  }

  /** The byte at a place. */
  at(place: number): number | undefined {
    if (this.#only !== undefined) return this.#only[place];
    const index = this.#pieceAt(place);
    return this.pieces[index]?.[place - (this.#starts[index] ?? 0)];
  }

  /** Where a byte stands, at `from` or after it; -1: nowhere. */
  indexOf(byte: number, from: number): number {
    for (let index = this.#pieceAt(from); index < this.pieces.length; index++) {
      const start = this.#starts[index] ?? 0;
      const at = this.pieces[index]?.indexOf(byte, Math.max(0, from - start)) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** Where a byte stands, at `from` or before it; -1: nowhere. */
  lastIndexOf(byte: number, from: number): number {
    for (let index = this.#pieceAt(from); index >= 0; index--) {
      const start = this.#starts[index] ?? 0;
      const at = this.pieces[index]?.lastIndexOf(byte, from - start) ?? -1;
      if (at >= 0) return start + at;
    }
    return -1;
  }

  /** The last piece that begins at a place or before it. */
  #pieceAt(place: number): number {
    const starts = this.#starts;
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Views that follow each other in memory become one, as they do within a process. */
function joinedViews(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const joined: Uint8Array[] = [];
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    const last = joined.at(-1);
    if (last !== undefined && last.buffer === piece.buffer && last.byteOffset + last.length === piece.byteOffset) {
      joined[joined.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + piece.length);
    } else joined.push(piece);
  }
  return joined;
}

function startsOf(pieces: readonly Buffer[]): readonly number[] {
  let next = 0;
  return pieces.map(({ length }) => {
    const start = next;
    next += length;
    return start;
  });
}

const nothing = Buffer.alloc(0);
const onlyStart = [0];

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
