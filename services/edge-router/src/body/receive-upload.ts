import type { IncomingMessage, ServerResponse } from 'node:http';
import { addAbortSignal, finished, PassThrough } from 'node:stream';
import type { GatewayError } from '@gateway/errors';
import { HttpFault } from '../errors/render-error.ts';

/** How fast a client must send its body. */
export interface UploadPace {
  /** Longest time without a byte. */
  readonly idleMs: number;
  /** Least bytes per second, on average over each `windowMs`. */
  readonly leastBytesPerSecond: number;
  readonly windowMs: number;
}

/**
 * The bytes of a request as they come. Throws what breaks the upload: the client, an abort of `signal`, or with status 408 a pace
 * below `pace`, which is measured only while a reader waits for bytes. The request itself is never destroyed: its connection still
 * owes an answer.
 */
export async function* receiveUpload(
  request: IncomingMessage,
  pace: UploadPace,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const fault = faults.get(request);
  if (fault !== undefined) throw fault;
  // In place of the request, which takes its connection with it when it is destroyed or left by an iterator.
  const upload = addAbortSignal(signal, request.pipe(new PassThrough()));
  const stopWatching = finished(request, { writable: false }, (broken) => {
    if (broken) upload.destroy(broken);
  });
  let waitingSinceMs: number | undefined;
  const idleTimer = setTimeout(() => {
    // What has come while this process was busy is read before the verdict.
    setImmediate(() => {
      if (waitingSinceMs === undefined || performance.now() - waitingSinceMs < pace.idleMs) return;
      upload.destroy(new HttpFault(408, `No more of the body came for ${pace.idleMs / 1_000} seconds.`));
    });
  }, pace.idleMs + 1);
  const rate = new UploadRate(pace);
  try {
    waitingSinceMs = performance.now();
    for await (const chunk of upload) {
      if (!(chunk instanceof Buffer)) throw new Error('the upload is read as text');
      rate.note(performance.now() - waitingSinceMs, chunk.length);
      waitingSinceMs = undefined;
      yield chunk;
      waitingSinceMs = performance.now();
      idleTimer.refresh();
    }
  } finally {
    clearTimeout(idleTimer);
    stopWatching();
    request.unpipe(upload);
    upload.destroy();
  }
}

class UploadRate {
  readonly #pace: UploadPace;
  /** Of the current window. */
  #waitedMs = 0;
  #bytes = 0;

  constructor(pace: UploadPace) {
    this.#pace = pace;
  }

  /** So many bytes came after so long. Throws when they were too few in a window. */
  note(waitedMs: number, bytes: number): void {
    const { windowMs, leastBytesPerSecond } = this.#pace;
    this.#waitedMs += waitedMs;
    this.#bytes += bytes;
    if (this.#waitedMs < windowMs) return;
    if (this.#bytes < (leastBytesPerSecond * this.#waitedMs) / 1_000) {
      throw new HttpFault(408, `The body came slower than ${leastBytesPerSecond} bytes per second.`);
    }
    this.#waitedMs = 0;
    this.#bytes = 0;
  }
}

/** Clients that wait for `100 Continue`, by their request. */
const waiting = new WeakMap<IncomingMessage, ServerResponse>();
const faults = new WeakMap<IncomingMessage, GatewayError>();

/** The client sends its body only when it is asked to. @see https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1 */
export function deferUpload(request: IncomingMessage, response: ServerResponse): void {
  waiting.set(request, response);
}

/** Asks a client that waits for it to send its body now. */
export function inviteUpload(request: IncomingMessage): void {
  waiting.get(request)?.writeContinue();
  waiting.delete(request);
}

/** Has the whole request been received? */
export function isReceived({ complete, headers }: IncomingMessage): boolean {
  return complete || (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0);
}

/** Will more of the body come, as far as can be known? */
export function isUploading(request: IncomingMessage): boolean {
  return !isReceived(request) && !waiting.has(request) && !faults.has(request) && !request.destroyed;
}

/** Ends an upload whose connection can bring no more of it. Reading the body fails with `fault`, now or later. */
export function breakUpload(request: IncomingMessage, fault: GatewayError): void {
  faults.set(request, fault);
  if (request.listenerCount('error') > 0) request.emit('error', fault);
}
