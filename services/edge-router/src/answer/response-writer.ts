import type { ServerResponse } from 'node:http';

/** Writes, and waits while the client reads slower than we write. Resolves at once when the client has gone. */
export async function writeWithBackpressure(response: ServerResponse, bytes: Uint8Array | string): Promise<void> {
  if (bytes.length === 0 || response.destroyed || response.write(bytes)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/** Sends an SSE comment when a stream has been silent for `silentMs`. Call `sent()` with every write, `stop()` at the end. */
export class Heartbeat {
  readonly #timer: NodeJS.Timeout;

  constructor(response: ServerResponse, silentMs: number) {
    this.#timer = setInterval(() => response.write(': keep-alive\n\n'), silentMs);
  }

  sent(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
