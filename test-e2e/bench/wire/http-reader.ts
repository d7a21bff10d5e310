/**
 * Finds the end of HTTP/1.1 messages on one connection, one message at a time. It knows only
 * framing: the generator and the provider double share a core, so both must be cheap.
 */
export class HttpReader {
  /** The head of the message, without the empty line at its end. */
  head = '';
  bodyBytes = 0;
  /** The time of the first byte of the body; 0 before. */
  firstBodyAtMs = 0;
  readonly pieces: Buffer[] = [];
  readonly #keepBody: boolean;
  #state: State = 'head';
  #unread: Buffer = empty;
  #left = 0;

  constructor(options: { readonly keepBody: boolean }) {
    this.#keepBody = options.keepBody;
  }

  /**
   * Takes bytes of the connection. Returns true when the message is complete; then call `reset()`
   * before the next.
   */
  read(bytes: Buffer): boolean {
    let rest = bytes;
    for (;;) {
      const after = this.#step(rest);
      if (this.#state === 'complete') return true;
      if (after === undefined || after.length === 0) return false;
      rest = after;
    }
  }

  /** The status of an answer, "200". */
  get status(): string {
    return this.head.slice(9, 12);
  }

  get body(): Buffer {
    return this.pieces.length === 1 ? (this.pieces[0] ?? empty) : Buffer.concat(this.pieces);
  }

  reset(): void {
    this.head = '';
    this.bodyBytes = 0;
    this.firstBodyAtMs = 0;
    this.pieces.length = 0;
    this.#state = 'head';
    this.#unread = empty;
  }

  /** The rest of the bytes for the next step; undefined if more bytes must come first. */
  #step(bytes: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes);
      case 'counted':
      case 'chunk':
        return this.#readCounted(bytes);
      default:
        return this.#readLine(bytes);
    }
  }

  #readHead(bytes: Buffer): Buffer | undefined {
    const seen = this.#joinUnread(bytes);
    const end = seen.indexOf('\r\n\r\n');
    if (end < 0) {
      this.#unread = seen;
      return undefined;
    }
    this.head = seen.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.head)?.[1];
    this.#left = Number(length ?? 0);
    if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(this.head)) this.#state = 'size';
    else this.#state = this.#left === 0 ? 'complete' : 'counted';
    return seen.subarray(end + 4);
  }

  #readCounted(bytes: Buffer): Buffer {
    const taken = Math.min(this.#left, bytes.length);
    this.#take(bytes.subarray(0, taken));
    this.#left -= taken;
    if (this.#left === 0) this.#state = this.#state === 'counted' ? 'complete' : 'line-end';
    return bytes.subarray(taken);
  }

  /** The size of a chunk, the end of its line, or the lines after the last chunk. */
  #readLine(bytes: Buffer): Buffer | undefined {
    const seen = this.#joinUnread(bytes);
    const end = seen.indexOf(0x0a);
    if (end < 0) {
      this.#unread = seen;
      return undefined;
    }
    const line = seen.toString('latin1', 0, end).trim();
    if (this.#state === 'size') {
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'chunk';
    } else if (this.#state === 'line-end') this.#state = 'size';
    else if (line === '') this.#state = 'complete';
    return seen.subarray(end + 1);
  }

  #take(bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (this.bodyBytes === 0) this.firstBodyAtMs = performance.now();
    this.bodyBytes += bytes.length;
    if (this.#keepBody) this.pieces.push(bytes);
  }

  #joinUnread(bytes: Buffer): Buffer {
    const seen = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    this.#unread = empty;
    return seen;
  }
}

type State = 'head' | 'counted' | 'size' | 'chunk' | 'line-end' | 'trailer' | 'complete';

const empty = Buffer.alloc(0);
