import type { StreamPiece } from './stream-piece.ts';

/**
 * Events on their way to the client: some held back, some ready to be taken. Their order never changes. Events that stand
 * side by side, as those of one read do, leave together as they came, without a copy.
 */
export class RelayBuffer {
  #held: Span[] = [];
  #ready: Span[] = [];

  /** What was held back since the last release. */
  get held(): readonly Buffer[] {
    return this.#held.map(bytesOf);
  }

  hold(piece: StreamPiece, start: number, end: number): void {
    append(this.#held, piece.bytes, start, end);
  }

  /** These bytes are for the client, and all that was held back before them. */
  release(piece: StreamPiece, start: number, end: number): void {
    this.releaseHeld();
    append(this.#ready, piece.bytes, start, end);
  }

  /** As `release`, for bytes that did not come like this. */
  releaseMade(bytes: Buffer): void {
    this.releaseHeld();
    append(this.#ready, bytes, 0, bytes.length);
  }

  releaseHeld(): void {
    if (this.#held.length === 0) return;
    for (const { bytes, start, end } of this.#held) append(this.#ready, bytes, start, end);
    this.#held = [];
  }

  take(): Buffer {
    const [first] = this.#ready;
    if (first === undefined) return nothing;
    const bytes = this.#ready.length === 1 ? bytesOf(first) : Buffer.concat(this.#ready.map(bytesOf));
    this.#ready = [];
    return bytes;
  }
}

interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  end: number;
}

const nothing = Buffer.alloc(0);

function append(spans: Span[], bytes: Buffer, start: number, end: number): void {
  const last = spans.at(-1);
  if (last?.bytes === bytes && last.end === start) last.end = end;
  else spans.push({ bytes, start, end });
}

function bytesOf({ bytes, start, end }: Span): Buffer {
  return end - start === bytes.length ? bytes : bytes.subarray(start, end);
}
