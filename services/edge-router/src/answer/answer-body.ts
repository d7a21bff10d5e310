import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/** Where the bytes come from. */
export interface ByteSource {
  pause(): void;
  resume(): void;
}

/**
 * The bytes of an answer that is sent as it comes. What is written in one turn goes out at its end, as one chunk in one piece: its
 * chunks are framed here, since Node's response would give the connection four pieces for each. The source is paused while the
 * client reads slower than we write.
 */
export class AnswerBody {
  readonly #response: ServerResponse;
  readonly #source: ByteSource;
  readonly #isChunked: boolean;
  /** Once the head is on its way there. */
  #connection: Socket | undefined;
  /** Written in this turn, not sent yet. */
  #pieces: Uint8Array[] | undefined;
  #isPaused = false;

  /** @param response with its head written, but nothing else. */
  constructor(response: ServerResponse, source: ByteSource) {
    this.#response = response;
    this.#source = source;
    // HTTP/1.0 knows no chunks, and some answers have no body. From here on Node leaves all to us.
    this.#isChunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  write(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.#pieces !== undefined) return void this.#pieces.push(bytes);
    this.#pieces = [bytes];
    // As a microtask: another tick, which Node's own way takes, costs half a microsecond more.
    void endOfTurn.then(this.#send);
  }

  /** The last bytes. */
  end(bytes: Uint8Array): void {
    const pieces = this.#pieces ?? [];
    this.#pieces = undefined;
    if (bytes.length > 0) pieces.push(bytes);
    if (!this.#isChunked) this.#response.end(joined(pieces));
    else if (pieces.length === 0) this.#response.end(lastChunk);
    else if (bytesIn(pieces) <= mostCopiedBytes) this.#response.end(chunkOf(pieces, lastChunk));
    else {
      this.#put(pieces);
      this.#response.end(lastChunk);
    }
  }

  readonly #send = (): void => {
    const pieces = this.#pieces;
    this.#pieces = undefined;
    if (pieces !== undefined && !this.#put(pieces)) this.#pauseUntilDrained();
  };

  /** False when the client reads slower than we write. */
  #put(pieces: readonly Uint8Array[]): boolean {
    const response = this.#response;
    if (response.destroyed) return true;
    if (!this.#isChunked) return response.write(joined(pieces));
    if (this.#connection !== undefined) return putChunk(this.#connection, pieces);
    const hasRoom = putChunk(response, pieces);
    // There is none as long as the answer to an earlier request of the connection is under way.
    this.#connection = response.socket ?? undefined;
    return hasRoom;
  }

  #pauseUntilDrained(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#source.pause();
    (this.#connection ?? this.#response).once('drain', () => {
      this.#isPaused = false;
      this.#source.resume();
    });
  }
}

const endOfTurn = Promise.resolve();

/** @see https://www.rfc-editor.org/rfc/rfc9112#section-7.1 */
function putChunk(target: Writable, pieces: readonly Uint8Array[]): boolean {
  if (bytesIn(pieces) <= mostCopiedBytes) return target.write(chunkOf(pieces));
  target.cork();
  target.write(`${bytesIn(pieces).toString(16)}\r\n`, 'latin1');
  for (const piece of pieces) target.write(piece);
  const hasRoom = target.write('\r\n', 'latin1');
  target.uncork();
  return hasRoom;
}

/** More takes longer to copy than to write in pieces. */
const mostCopiedBytes = 4_000;

/** A chunk as one piece. `after` follows it. */
function chunkOf(pieces: readonly Uint8Array[], after: Uint8Array = nothing): Buffer {
  const length = bytesIn(pieces);
  const size = length.toString(16);
  const chunk = Buffer.allocUnsafe(size.length + length + 4 + after.length);
  let at = 0;
  // Byte by byte: a call into native code costs more than the few digits.
  for (; at < size.length; at++) chunk[at] = size.charCodeAt(at);
  chunk[at++] = carriageReturn;
  chunk[at++] = lineFeed;
  for (const piece of pieces) {
    chunk.set(piece, at);
    at += piece.length;
  }
  chunk[at++] = carriageReturn;
  chunk[at++] = lineFeed;
  chunk.set(after, at);
  return chunk;
}

function bytesIn(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const piece of pieces) bytes += piece.length;
  return bytes;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only = nothing] = pieces;
  return pieces.length > 1 ? Buffer.concat(pieces) : only;
}

const nothing = new Uint8Array();
const lastChunk = Buffer.from('0\r\n\r\n');
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
