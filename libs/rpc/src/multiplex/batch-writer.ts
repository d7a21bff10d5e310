import type { Frame } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';

/** Where batches go: a stream of grpc-js, from either side. */
export interface BatchStream {
  write(batch: { readonly frames: readonly Frame[] }, onWritten: () => void): unknown;
}

/**
 * Writes frames to a stream, those of one turn of the event loop as one batch. While the network is slow, frames wait here;
 * what calls may add is bounded by their credit.
 */
export class BatchWriter {
  readonly #stream: BatchStream;
  readonly #waiting: Queued[] = [];
  #inFlightBytes = 0;
  #isScheduled = false;
  #onEmpty: (() => void) | undefined;

  constructor(stream: BatchStream) {
    this.#stream = stream;
  }

  /** `onSent` is called when the frame has been given to the stream. */
  send(frame: Frame, onSent?: () => void): void {
    this.#waiting.push({ frame, bytes: frameBytes(frame), onSent });
    this.#schedule();
  }

  /** Calls back when all that was sent so far has been given to the stream. */
  whenEmpty(act: () => void): void {
    if (this.#waiting.length === 0) act();
    else this.#onEmpty = act;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#waiting.length > 0 && this.#inFlightBytes < maxInFlightBytes) {
      const batch = this.#takeBatch();
      const bytes = batch.reduce((sum, queued) => sum + queued.bytes, 0);
      this.#inFlightBytes += bytes;
      this.#stream.write({ frames: batch.map(({ frame }) => frame) }, () => {
        this.#inFlightBytes -= bytes;
        if (this.#waiting.length > 0) this.#schedule();
      });
      for (const { onSent } of batch) onSent?.();
    }
    if (this.#waiting.length > 0 || this.#onEmpty === undefined) return;
    this.#onEmpty();
    this.#onEmpty = undefined;
  }

  /** As many frames as make a batch, at least one. */
  #takeBatch(): readonly Queued[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((queued, index) => {
      bytes += queued.bytes;
      return index > 0 && bytes > maxBatchBytes;
    });
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
  }
}

interface Queued {
  readonly frame: Frame;
  readonly bytes: number;
  readonly onSent: (() => void) | undefined;
}

/** A batch is closed once it is so long; a longer message is a batch by itself. */
const maxBatchBytes = 256 * 1024;

/** Above this many bytes on their way to the network, frames wait. */
const maxInFlightBytes = 512 * 1024;

function frameBytes({ content }: Frame): number {
  const message =
    content.case === 'message' ? content.value : content.case === 'start' ? content.value.request : undefined;
  return overheadBytes + (message?.length ?? 0);
}

const overheadBytes = 16;
