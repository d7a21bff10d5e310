import { SseOverflowError } from './sse-parser.ts';
import { StreamPiece } from './stream-piece.ts';

export interface EventSplitterOptions {
  /** The largest event taken, in bytes. */
  readonly maxEventBytes: number;
  /** Called for each whole event in order, before `push` or `end` returns: it stands in `[start, end)`. What it throws, they throw. */
  onEvent(piece: StreamPiece, start: number, end: number): void;
}

/**
 * Cuts a text/event-stream that arrives in any pieces into its events, each with the blank line that ends it. Put
 * together, they are the bytes that came. A blank line alone, or with comments, is given like an event.
 *
 * Lines end in LF, CRLF or CR. Whether a CR is all of a line's end shows in the byte after it.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class EventSplitter {
  readonly #maxEventBytes: number;
  readonly #onEvent: EventSplitterOptions['onEvent'];
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #lineIsEmpty = true;
  #afterCarriageReturn = false;

  constructor({ maxEventBytes, onEvent }: EventSplitterOptions) {
    this.#maxEventBytes = maxEventBytes;
    this.#onEvent = onEvent;
  }

  /** Takes the next bytes, which must stay as they are. Throws SseOverflowError. */
  push(bytes: Uint8Array): void {
    const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const piece = new StreamPiece(buffer);
    if (this.#afterCarriageReturn || piece.text.includes('\r')) this.#splitAnyLines(buffer);
    else this.#splitLines(piece);
  }

  /** The stream has ended. Returns what came of an event that no blank line ended; empty when there is none. */
  end(): Buffer {
    if (this.#afterCarriageReturn && this.#lineIsEmpty) this.#emitPending();
    return Buffer.concat(this.#pending);
  }

  /** For lines that all end in LF, as those of nearly all streams do. */
  #splitLines(piece: StreamPiece): void {
    if (this.#pendingBytes > 0) return this.#splitBehindPending(piece);
    const { text } = piece;
    let start = 0;
    for (let end = endOfEvent(text, start); end > 0; end = endOfEvent(text, start)) {
      this.#emit(piece, start, end);
      start = end;
    }
    if (start < text.length) this.#keep(piece.bytes.subarray(start));
    this.#lineIsEmpty = this.#pendingBytes === 0 || endsInLineFeed(text);
  }

  /** What came before is joined once its end is here: a large event is copied once, however many pieces it comes in. */
  #splitBehindPending(piece: StreamPiece): void {
    const endsPending = (this.#lineIsEmpty && piece.bytes[0] === lineFeed) || piece.text.includes('\n\n');
    this.#keep(piece.bytes, endsPending ? Number.POSITIVE_INFINITY : this.#maxEventBytes);
    if (!endsPending) {
      if (piece.bytes.length > 0) this.#lineIsEmpty = endsInLineFeed(piece.text);
      return;
    }
    this.#splitLines(this.#takePending());
  }

  #splitAnyLines(piece: Buffer): void {
    let eventStart = 0;
    let nextCarriageReturn = indexOrEnd(piece, carriageReturn, 0);
    const endLine = (end: number) => {
      if (this.#lineIsEmpty) {
        this.#keep(piece.subarray(eventStart, end));
        this.#emitPending();
        eventStart = end;
      }
      this.#lineIsEmpty = true;
    };
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at];
      if (this.#afterCarriageReturn) {
        this.#afterCarriageReturn = false;
        endLine(byte === lineFeed ? at + 1 : at);
        if (byte === lineFeed) continue;
      }
      if (byte === carriageReturn) this.#afterCarriageReturn = true;
      else if (byte === lineFeed) endLine(at + 1);
      else {
        this.#lineIsEmpty = false;
        if (nextCarriageReturn < at) nextCarriageReturn = indexOrEnd(piece, carriageReturn, at);
        at = Math.min(indexOrEnd(piece, lineFeed, at), nextCarriageReturn) - 1;
      }
    }
    this.#keep(piece.subarray(eventStart));
  }

  #keep(bytes: Buffer, maxBytes = this.#maxEventBytes): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > maxBytes) throw new SseOverflowError(this.#maxEventBytes);
  }

  #emitPending(): void {
    if (this.#pendingBytes === 0) return;
    const piece = this.#takePending();
    this.#emit(piece, 0, piece.bytes.length);
  }

  #takePending(): StreamPiece {
    const [first, ...more] = this.#pending;
    const bytes = first === undefined || more.length > 0 ? Buffer.concat(this.#pending, this.#pendingBytes) : first;
    this.#pending = [];
    this.#pendingBytes = 0;
    return new StreamPiece(bytes);
  }

  #emit(piece: StreamPiece, start: number, end: number): void {
    if (end - start > this.#maxEventBytes) throw new SseOverflowError(this.#maxEventBytes);
    this.#onEvent(piece, start, end);
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Where the event ends that begins at `start`, its blank line included; 0 when its end is not there. */
function endOfEvent(text: string, start: number): number {
  if (text.charCodeAt(start) === lineFeed) return start + 1;
  const blankLine = text.indexOf('\n\n', start);
  return blankLine < 0 ? 0 : blankLine + 2;
}

function endsInLineFeed(text: string): boolean {
  return text.charCodeAt(text.length - 1) === lineFeed;
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index < 0 ? bytes.length : index;
}
