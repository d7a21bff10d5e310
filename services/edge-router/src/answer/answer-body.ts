import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/**
 * The bytes of an answer that is sent as it comes. Its chunks are framed here and given to the connection as one piece each:
 * Node's response would write four, and hold them back until the next tick, which costs 2 µs more for each event.
 */
export class AnswerBody {
  readonly #response: ServerResponse;
  readonly #isChunked: boolean;
  /** Once the head is on its way there. */
  #connection: Socket | undefined;

  /** @param response with its head written, but nothing else. */
  constructor(response: ServerResponse) {
    this.#response = response;
    // HTTP/1.0 knows no chunks, and some answers have no body.
    this.#isChunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  /** False when the client reads slower than we write: `onceDrained` says when it has caught up. */
  write(bytes: Uint8Array): boolean {
    const response = this.#response;
    if (bytes.length === 0 || response.destroyed) return true;
    if (!this.#isChunked) return response.write(bytes);
    if (this.#connection !== undefined) return writeChunk(this.#connection, bytes);
    const hasRoom = writeChunk(response, bytes);
    // There is none as long as the answer to an earlier request of the connection is under way.
    this.#connection = response.socket ?? undefined;
    return hasRoom;
  }

  onceDrained(act: () => void): void {
    (this.#connection ?? this.#response).once('drain', act);
  }

  /** The last bytes. */
  end(bytes: Uint8Array): void {
    const response = this.#response;
    if (!this.#isChunked) response.end(bytes);
    else if (bytes.length <= mostCopiedBytes) response.end(lastChunksOf(bytes));
    else {
      this.write(bytes);
      response.end(lastChunk);
    }
  }
}

/** @see https://www.rfc-editor.org/rfc/rfc9112#section-7.1 */
function writeChunk(target: Writable, bytes: Uint8Array): boolean {
  if (bytes.length <= mostCopiedBytes) return target.write(chunkOf(bytes));
  target.cork();
  target.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
  target.write(bytes);
  const hasRoom = target.write('\r\n', 'latin1');
  target.uncork();
  return hasRoom;
}

/** More takes longer to copy than to write in pieces. */
const mostCopiedBytes = 4 * 1024 - 16;

function chunkOf(bytes: Uint8Array): Buffer {
  const size = bytes.length.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 4);
  putChunk(chunk, size, bytes);
  return chunk;
}

/** With the empty chunk that ends a body. */
function lastChunksOf(bytes: Uint8Array): Buffer {
  if (bytes.length === 0) return lastChunk;
  const size = bytes.length.toString(16);
  const chunks = Buffer.allocUnsafe(size.length + bytes.length + 4 + lastChunk.length);
  chunks.set(lastChunk, putChunk(chunks, size, bytes));
  return chunks;
}

/** Returns where the chunk ends. */
function putChunk(target: Buffer, size: string, bytes: Uint8Array): number {
  let at = 0;
  // Byte by byte: a call into native code costs more than the few digits.
  while (at < size.length) {
    target[at] = size.charCodeAt(at);
    at += 1;
  }
  target[at++] = carriageReturn;
  target[at++] = lineFeed;
  target.set(bytes, at);
  at += bytes.length;
  target[at++] = carriageReturn;
  target[at++] = lineFeed;
  return at;
}

const lastChunk = Buffer.from('0\r\n\r\n');
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
