import { readEvent } from './read-event.ts';
import type { SseEvent } from './sse-event.ts';

export interface SseParserOptions {
  /** The largest event taken, in bytes. Default 4 MiB. */
  readonly maxEventBytes?: number;
  /**
   * Called first for each block of lines, in `[start, end)` of a text in which lines end in LF. What it returns true for is
   * done with: events that are known by how they are written need not be taken apart.
   */
  readonly takesBlock?: (text: string, start: number, end: number) => boolean;
  /** Called for each other event in order, before `push` or `end` returns. What it throws, they throw. */
  onEvent(event: SseEvent): void;
}

/** An event grew over the limit. The parser is of no use afterwards. */
export class SseOverflowError extends Error {
  override readonly name = 'SseOverflowError';

  constructor(maxEventBytes: number) {
    super(`An event is larger than ${maxEventBytes} bytes.`);
  }
}

/**
 * Reads a text/event-stream that arrives in any pieces. Takes LF, CRLF and CR, a byte order mark and comments; an
 * event that the stream ends in is given too, blank line or not.
 *
 * What one piece brings is decoded at once, up to the last blank line: no character is ever cut by the edge of a piece, and
 * the cost of decoding is per piece.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class SseParser {
  readonly #maxEventBytes: number;
  readonly #takesBlock: SseParserOptions['takesBlock'];
  readonly #onEvent: SseParserOptions['onEvent'];
  /** Holds the unfinished event in its first #pendingBytes. Line ends are LF and there is no blank line in it. */
  #pending: Buffer = nothing;
  #pendingBytes = 0;
  /** The last byte was CR: an LF that follows belongs to it. */
  #afterCarriageReturn = false;
  #atStart = true;

  constructor({ maxEventBytes = 4 * 1024 * 1024, takesBlock, onEvent }: SseParserOptions) {
    this.#maxEventBytes = maxEventBytes;
    this.#takesBlock = takesBlock;
    this.#onEvent = onEvent;
  }

  /** Takes the next bytes; they may be reused afterwards. Throws SseOverflowError. */
  push(bytes: Uint8Array): void {
    const piece = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (!this.#pushWholeEvents(piece)) this.#pushAny(this.#withLineFeeds(piece));
  }

  /** The stream has ended. */
  end(): void {
    this.#emitPending();
  }

  /** Takes what most pieces are: events whose lines end in LF, from the first byte to the last. */
  #pushWholeEvents(piece: Buffer): boolean {
    if (this.#pendingBytes > 0 || this.#afterCarriageReturn || !endsInBlankLine(piece)) return false;
    const text = piece.toString();
    if (text.includes('\r')) return false;
    this.#keep(piece, piece.length - this.#emitBlocks(text));
    return true;
  }

  #pushAny(piece: Buffer): void {
    if (piece.length === 0) return;
    const start = this.#endPending(piece);
    const end = Math.max(start, endOfLastBlankLine(piece));
    this.#keep(piece, end - this.#emitBlocks(piece.toString('utf8', start, end)));
  }

  /** Gives the event that earlier pieces began, if `piece` ends it. Returns how much of the piece belonged to it. */
  #endPending(piece: Buffer): number {
    if (this.#pendingBytes === 0) return 0;
    if (this.#pending[this.#pendingBytes - 1] === lineFeed && piece[0] === lineFeed) {
      this.#emitPending();
      return 1;
    }
    const end = blankLine(piece, 0);
    if (end < 0) return 0;
    this.#keep(piece.subarray(0, end), 0);
    this.#emitPending();
    return end + 2;
  }

  #keep(piece: Buffer, start: number): void {
    if (start === piece.length) return;
    const bytes = this.#pendingBytes + piece.length - start;
    if (bytes > this.#maxEventBytes) this.#overflow();
    if (bytes > this.#pending.length) {
      const larger = Buffer.allocUnsafe(Math.max(bytes, 2 * this.#pending.length, 1024));
      this.#pending.copy(larger, 0, 0, this.#pendingBytes);
      this.#pending = larger;
    }
    piece.copy(this.#pending, this.#pendingBytes, start);
    this.#pendingBytes = bytes;
  }

  #emitPending(): void {
    const bytes = this.#pendingBytes;
    this.#pendingBytes = 0;
    if (bytes > this.#maxEventBytes) this.#overflow();
    const block = this.#pending.toString('utf8', 0, bytes);
    this.#emit(block, 0, block.length);
    if (this.#pending.length > keptCapacityBytes) this.#pending = nothing;
  }

  /** Gives the events of a text. Returns how much is left of it: no more than one LF, the third of a row. */
  #emitBlocks(text: string): number {
    const mayOverflow = text.length * maxBytesPerUnit > this.#maxEventBytes;
    let start = 0;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n', start)) {
      if (mayOverflow && Buffer.byteLength(text.slice(start, end)) > this.#maxEventBytes) this.#overflow();
      this.#emit(text, start, end);
      start = end + 2;
    }
    return text.length - start;
  }

  #emit(text: string, start: number, end: number): void {
    const isFirst = this.#atStart;
    this.#atStart = false;
    if (end === start) return;
    const blockStart = isFirst && text.charCodeAt(start) === byteOrderMark ? start + 1 : start;
    if (this.#takesBlock?.(text, blockStart, end)) return;
    const event = readEvent(text.slice(blockStart, end));
    if (event !== undefined) this.#onEvent(event);
  }

  #overflow(): never {
    this.#pending = nothing;
    this.#pendingBytes = 0;
    throw new SseOverflowError(this.#maxEventBytes);
  }

  /** The bytes with every line end as one LF. */
  #withLineFeeds(piece: Buffer): Buffer {
    if (piece.length === 0) return piece;
    const rest = this.#afterCarriageReturn && piece[0] === lineFeed ? piece.subarray(1) : piece;
    this.#afterCarriageReturn = piece[piece.length - 1] === carriageReturn;
    if (rest.indexOf(carriageReturn) < 0) return rest;
    return Buffer.from(rest.toString('latin1').replace(/\r\n?/g, '\n'), 'latin1');
  }
}

const nothing = Buffer.alloc(0);
/** A buffer that one large event made is not kept for the small ones that follow. */
const keptCapacityBytes = 64 * 1024;
/** Of UTF-8, for one unit of a text. */
const maxBytesPerUnit = 3;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const byteOrderMark = 0xfeff;

function blankLine(bytes: Buffer, start: number): number {
  return bytes.indexOf('\n\n', start, 'latin1');
}

function endsInBlankLine(bytes: Buffer): boolean {
  return bytes[bytes.length - 1] === lineFeed && bytes[bytes.length - 2] === lineFeed;
}

/** Behind the last blank line; 0 when there is none. */
function endOfLastBlankLine(bytes: Buffer): number {
  const last = bytes.lastIndexOf('\n\n', bytes.length, 'latin1');
  return last < 0 ? 0 : last + 2;
}
