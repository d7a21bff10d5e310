import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Frame } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';

/** Where batches go: a stream of grpc-js, from either side. */
export interface BatchStream {
  /** False: the network is slow, and 'drain' follows. */
  write(batch: { readonly frames: readonly Frame[] }): boolean;
  once(event: 'drain', act: () => void): unknown;
  /** No batch follows. */
  end(): unknown;
}

/**
 * Writes frames to a stream, those of one turn of the event loop as one batch. While the network is slow, frames wait here;
 * what calls may add is bounded by their credit.
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

  /** Ends the stream after what was sent so far. */
  end(): void {
    this.#isEnding = true;
    this.#flushing ??= this.#flush();
  }

  async #flush(): Promise<void> {
    await endOfTurn();
    while (this.#waiting.length > 0) {
      if (this.#stream.write({ frames: this.#nextBatch() })) continue;
      await new Promise<void>((resolve) => this.#stream.once('drain', resolve));
    }
    this.#flushing = undefined;
    if (this.#isEnding) this.#stream.end();
  }

  /** As many frames as make a batch; a long message is one by itself. */
  #nextBatch(): readonly Frame[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((frame, index) => {
      bytes += frameBytes(frame);
      return index > 0 && bytes > maxBatchBytes;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }
}

const maxBatchBytes = 256 * 1024;

function frameBytes({ content }: Frame): number {
  if (content.case === 'message') return content.value.length;
  return content.case === 'start' ? (content.value.request?.length ?? 0) : 0;
}
