import type { StreamPiece } from './stream-piece.ts';

/**
 * Events on their way to the client: some held back, some ready to be taken. Their order never changes. Events that stand
 * side by side, as those of one read do, leave together as they came, without a copy.
 */
export class RelayBuffer {
  readonly #held = new Spans();
  readonly #ready = new Spans();

  /** What was held back since the last release. */
  get held(): readonly Buffer[] {
    return this.#held.all;
  }

  hold(piece: StreamPiece, start: number, end: number): void {
    this.#held.add(piece.bytes, start, end);
  }

  /** These bytes are for the client, and all that was held back before them. */
  release(piece: StreamPiece, start: number, end: number): void {
    this.releaseHeld();
    this.#ready.add(piece.bytes, start, end);
  }

  /** As `release`, for bytes that did not come like this. */
  releaseMade(bytes: Buffer): void {
    this.releaseHeld();
    this.#ready.add(bytes, 0, bytes.length);
  }

  releaseHeld(): void {
    if (!this.#held.isEmpty) this.#held.moveTo(this.#ready);
  }

  take(): Buffer {
    return this.#ready.take();
  }
}

/**
 * Ranges of buffers, one behind the other. The last one grows in place: mostly it is the only one, and nothing is made for it.
 */
class Spans {
  #before: Span[] = [];
  #bytes: Buffer = nothing;
  #start = 0;
  #end = 0;

  get isEmpty(): boolean {
    return this.#end === this.#start && this.#before.length === 0;
  }

  get all(): readonly Buffer[] {
    return this.#spans().map(({ bytes, start, end }) => rangeOf(bytes, start, end));
  }

  add(bytes: Buffer, start: number, end: number): void {
    if (bytes === this.#bytes && start === this.#end) {
      this.#end = end;
      return;
    }
    if (this.#end > this.#start) this.#before.push({ bytes: this.#bytes, start: this.#start, end: this.#end });
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  moveTo(other: Spans): void {
    for (const { bytes, start, end } of this.#spans()) other.add(bytes, start, end);
    this.#clear();
  }

  take(): Buffer {
    const taken =
      this.#before.length === 0 ? rangeOf(this.#bytes, this.#start, this.#end) : Buffer.concat([...this.all]);
    this.#clear();
    return taken;
  }

  #spans(): readonly Span[] {
    const last = { bytes: this.#bytes, start: this.#start, end: this.#end };
    return last.end > last.start ? [...this.#before, last] : this.#before;
  }

  #clear(): void {
    if (this.#before.length > 0) this.#before = [];
    this.#bytes = nothing;
    this.#start = 0;
    this.#end = 0;
  }
}

interface Span {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

const nothing = Buffer.alloc(0);

function rangeOf(bytes: Buffer, start: number, end: number): Buffer {
  return end - start === bytes.length ? bytes : bytes.subarray(start, end);
}
