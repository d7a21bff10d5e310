import { SseOverflowError } from './sse-parser.ts';

export interface EventSplitterOptions {
  /** The largest event taken, in bytes. */
  readonly maxEventBytes: number;
  /** Called for each whole event in order, before `push` or `end` returns. What it throws, they throw. */
  onEvent(bytes: Buffer): void;
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
  readonly #onEvent: (bytes: Buffer) => void;
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
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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

  /** The stream has ended. Returns what came of an event that no blank line ended; empty when there is none. */
  end(): Buffer {
    if (this.#afterCarriageReturn && this.#lineIsEmpty) this.#emitPending();
    return Buffer.concat(this.#pending);
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > this.#maxEventBytes) throw new SseOverflowError(this.#maxEventBytes);
  }

  #emitPending(): void {
    const [first, ...more] = this.#pending;
    if (first === undefined) return;
    const bytes = more.length === 0 ? first : Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#onEvent(bytes);
  }
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index < 0 ? bytes.length : index;
}
