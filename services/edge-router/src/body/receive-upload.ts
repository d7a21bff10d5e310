import type { IncomingMessage } from 'node:http';
import { addAbortSignal, finished, PassThrough } from 'node:stream';
import { HttpFault } from '../errors/http-fault.ts';
import { uploadFault } from '../http/upload.ts';

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
  const fault = uploadFault(request);
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
