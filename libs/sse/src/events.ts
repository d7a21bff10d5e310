export interface EventSplitterOptions {
  /** The largest accepted event, in bytes. */
  readonly maxEventBytes: number;
  /**
   * Called for each whole event in order, before `push` or `end` returns. They rethrow what it
   * throws.
   */
  onEvent(event: Buffer): void;
}

/** An event exceeded the limit. The splitter can't be used afterwards. */
export class SseOverflowError extends Error {
  override readonly name = 'SseOverflowError';

  constructor(maxEventBytes: number) {
    super(`An event is larger than ${maxEventBytes} bytes.`);
  }
}

/**
 * Splits a text/event-stream that arrives in arbitrary chunks into events, each including its final
 * blank line. Joined, the events equal the input. A blank line alone, or with comments, counts as
 * an event.
 *
 * Lines end in LF, CRLF or CR. Only the byte after a CR shows whether the line ending is complete.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class EventSplitter {
  readonly #maxEventBytes: number;
  readonly #onEvent: EventSplitterOptions['onEvent'];
  /** The chunks of an incomplete event. They are joined once, when it ends. */
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #lineIsEmpty = true;
  #afterCarriageReturn = false;

  constructor({ maxEventBytes, onEvent }: EventSplitterOptions) {
    this.#maxEventBytes = maxEventBytes;
    this.#onEvent = onEvent;
  }

  /** The bytes of an incomplete event. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Takes the next bytes, which must not change afterwards. Throws SseOverflowError. */
  push(bytes: Uint8Array): void {
    const chunk = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let eventStart = 0;
    let nextCarriageReturn = indexOrEnd(chunk, carriageReturn, 0);
    for (let at = 0; at < chunk.length; ) {
      const byte = chunk[at];
      let lineEnds = this.#afterCarriageReturn;
      this.#afterCarriageReturn = false;
      if (byte === lineFeed) {
        lineEnds = true;
        at += 1;
      } else if (!lineEnds && byte === carriageReturn) {
        this.#afterCarriageReturn = true;
        at += 1;
      } else if (!lineEnds) {
        this.#lineIsEmpty = false;
        if (nextCarriageReturn < at) nextCarriageReturn = indexOrEnd(chunk, carriageReturn, at);
        at = Math.min(indexOrEnd(chunk, lineFeed, at), nextCarriageReturn);
      }
      if (lineEnds && this.#lineIsEmpty) {
        this.#emit(chunk.subarray(eventStart, at));
        eventStart = at;
      }
      if (lineEnds) this.#lineIsEmpty = true;
    }
    this.#keep(chunk.subarray(eventStart));
  }

  /**
   * Ends the stream. Returns the bytes of an event without a final blank line; empty when there is
   * none.
   */
  end(): Buffer {
    if (this.#afterCarriageReturn && this.#lineIsEmpty) this.#emit(nothing);
    return Buffer.concat(this.#pending);
  }

  #emit(lastChunk: Buffer): void {
    this.#keep(lastChunk);
    const [first = nothing, ...more] = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    if (first.length > 0) this.#onEvent(more.length === 0 ? first : Buffer.concat([first, ...more]));
  }

  #keep(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes > this.#maxEventBytes) throw new SseOverflowError(this.#maxEventBytes);
  }
}

const nothing = Buffer.alloc(0);
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index < 0 ? bytes.length : index;
}

/** The content of one event of a text/event-stream. */
export interface SseEvent {
  /** The value of the `event:` line; empty when there is none. */
  readonly name: string;
  /**
   * The `data:` lines joined with "\n". Undefined when there are none: browsers ignore such a
   * block.
   */
  readonly data: string | undefined;
}

/**
 * Reads the lines of one event from EventSplitter. It skips a byte order mark before them, comments
 * and other fields.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
 */
export function readEvent(bytes: Buffer): SseEvent {
  const text = bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0);
  let name = '';
  let data: string | undefined;
  for (const line of text.split(text.includes('\r') ? anyLineEnd : '\n')) {
    if (isField(line, 'data')) data = data === undefined ? valueAfter(line, 4) : `${data}\n${valueAfter(line, 4)}`;
    else if (isField(line, 'event')) name = valueAfter(line, 5);
  }
  return { name, data };
}

const anyLineEnd = /\r\n|\r|\n/;

function hasByteOrderMark(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}

function isField(line: string, name: string): boolean {
  return line.startsWith(name) && (line.length === name.length || line[name.length] === ':');
}

/** The text after the colon and one optional space. A field without a colon has an empty value. */
function valueAfter(line: string, nameLength: number): string {
  return line.slice(nameLength + (line[nameLength + 1] === ' ' ? 2 : 1));
}
