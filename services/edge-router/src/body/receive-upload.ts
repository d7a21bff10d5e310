import type { IncomingMessage } from 'node:http';
import { addAbortSignal, finished, PassThrough } from 'node:stream';
import { HttpFault } from '../http/http-fault.ts';
import { uploadFault } from './upload.ts';

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
  const clock = new UploadClock(pace, (tooSlow) => upload.destroy(tooSlow));
  try {
    clock.start();
    for await (const chunk of upload) {
      if (!(chunk instanceof Buffer)) throw new Error('the upload is read as text');
      clock.stop(chunk.length);
      yield chunk;
      clock.start();
    }
  } finally {
    clock.stop(0);
    stopWatching();
    request.unpipe(upload);
    upload.destroy();
  }
}

/** Runs while bytes are waited for. */
class UploadClock {
  readonly #pace: UploadPace;
  readonly #onTooSlow: (fault: HttpFault) => void;
  #timer: NodeJS.Timeout | undefined;
  #verdict: NodeJS.Immediate | undefined;
  #startedAtMs = 0;
  /** Of the window: how long bytes were waited for until the clock stopped last, and how many came. */
  #waitedMs = 0;
  #bytes = 0;

  constructor(pace: UploadPace, onTooSlow: (fault: HttpFault) => void) {
    this.#pace = pace;
    this.#onTooSlow = onTooSlow;
  }

  start(): void {
    this.#startedAtMs = performance.now();
    this.#schedule();
  }

  stop(bytes: number): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#verdict);
    this.#waitedMs += performance.now() - this.#startedAtMs;
    this.#bytes += bytes;
  }

  #schedule(): void {
    const { idleMs, windowMs } = this.#pace;
    const idleForMs = performance.now() - this.#startedAtMs;
    const dueMs = Math.max(0, Math.min(idleMs, windowMs - this.#waitedMs) - idleForMs);
    this.#timer = setTimeout(() => {
      // What has come while this process was busy is read before the verdict.
      this.#verdict = setImmediate(() => this.#judge());
    }, Math.ceil(dueMs));
  }

  #judge(): void {
    const { idleMs, windowMs, leastBytesPerSecond } = this.#pace;
    const idleForMs = performance.now() - this.#startedAtMs;
    if (idleForMs >= idleMs) return this.#onTooSlow(tooSlow(`No more of the body came for ${idleMs / 1_000} seconds.`));
    if (this.#waitedMs + idleForMs >= windowMs) {
      if (this.#bytes < (leastBytesPerSecond * windowMs) / 1_000) {
        return this.#onTooSlow(tooSlow(`The body came slower than ${leastBytesPerSecond} bytes per second.`));
      }
      this.#waitedMs = -idleForMs;
      this.#bytes = 0;
    }
    this.#schedule();
  }
}

function tooSlow(message: string): HttpFault {
  return new HttpFault(408, message);
}
