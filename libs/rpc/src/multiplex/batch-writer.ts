import type { Frame } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import { yieldToEventLoop } from '@gateway/time';

/** The destination of batches: a stream of grpc-js, from either side. */
export interface BatchStream {
  /** False when the network is slow; a 'drain' event follows. */
  write(batch: { readonly frames: readonly Frame[] }): boolean;
  once(event: 'drain', act: () => void): unknown;
  /** Ends the stream: no batch follows. */
  end(): unknown;
}

/**
 * Writes frames to a stream: the frames of one turn of the event loop form one batch. While the
 * network is slow, frames wait here. Credit bounds how many frames calls may add.
 */
export class BatchWriter {
  readonly #stream: BatchStream;
  readonly #waiting: Frame[] = [];
  #flushing: Promise<void> | undefined;
  #isEnding = false;

  constructor(stream: BatchStream) {
    this.#stream = stream;
  }

  send(frame: Frame): void {
    this.#waiting.push(frame);
    this.#flushing ??= this.#flush();
  }

  /** Ends the stream after the frames sent so far. */
  end(): void {
    this.#isEnding = true;
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    await yieldToEventLoop();
    while (this.#waiting.length > 0) {
      if (this.#stream.write({ frames: this.#nextBatch() })) continue;
      await new Promise<void>((resolve) => this.#stream.once('drain', resolve));
    }
    this.#flushing = undefined;
    if (this.#isEnding) this.#stream.end();
  }

  /** Takes as many frames as fit in a batch. A single long message may exceed its size. */
  #nextBatch(): readonly Frame[] {
    let bytes = 0;
    const last = this.#waiting.findIndex(({ content }) => {
      // The overhead of a frame beyond its message.
      bytes += 32;
      if (content.case === 'message') bytes += content.value.length;
      if (content.case === 'start') bytes += content.value.request?.length ?? 0;
      return bytes >= minBatchBytes;
    });
    return this.#waiting.splice(0, last < 0 ? this.#waiting.length : last + 1);
  }
}

const minBatchBytes = 256 * 1024;
