import type { Frame } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import type { BatchStream } from '../batch-writer.ts';
import type { ClientBatchStream } from '../client-session.ts';

interface Batch {
  readonly frames: readonly Frame[];
}

/**
 * A stream of batches within this process, over a network with configurable delays and failures.
 */
export class MemoryStream {
  readonly #toServer: Direction;
  readonly #toClient: Direction;

  /** `delay` returns how many turns of the event loop the next batch takes. */
  constructor(delay: () => number = () => 0) {
    this.#toServer = new Direction(delay);
    this.#toClient = new Direction(delay);
  }

  get client(): ClientBatchStream {
    return {
      ...this.#toServer.writable,
      cancel: () => this.cut(),
      [Symbol.asyncIterator]: () => this.#toClient.read(),
    };
  }

  get server(): BatchStream & { readonly batches: AsyncIterable<{ frames: Frame[] }> } {
    return {
      ...this.#toClient.writable,
      batches: { [Symbol.asyncIterator]: () => this.#toServer.read() },
    };
  }

  /** How many batches have been sent to the server. */
  get batchesToServer(): number {
    return this.#toServer.written;
  }

  /** Loses the connection; batches in flight never arrive. */
  cut(): void {
    this.#toServer.cut();
    this.#toClient.cut();
  }
}

/** One direction. Batches arrive whole and in order. */
class Direction {
  written = 0;
  readonly #delay: () => number;
  readonly #sent: (Batch | 'end')[] = [];
  #arrival = Promise.withResolvers<void>();
  #isCut = false;

  constructor(delay: () => number) {
    this.#delay = delay;
  }

  /** Each batch occupies the network for one turn. */
  readonly writable: BatchStream = {
    write: (batch) => {
      this.written++;
      this.#put(batch);
      return false;
    },
    once: (_drain, act) => setImmediate(act),
    end: () => this.#put('end'),
  };

  cut(): void {
    this.#isCut = true;
    this.#arrival.resolve();
  }

  async *read(): AsyncGenerator<{ frames: Frame[] }, undefined> {
    for (;;) {
      for (let turns = this.#delay(); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
      if (this.#isCut) throw new Error('cut');
      const next = this.#sent.shift();
      if (next === 'end') return undefined;
      if (next !== undefined) yield { frames: [...next.frames] };
      else await this.#arrival.promise;
    }
  }

  #put(item: Batch | 'end'): void {
    this.#sent.push(item);
    this.#arrival.resolve();
    this.#arrival = Promise.withResolvers();
  }
}
