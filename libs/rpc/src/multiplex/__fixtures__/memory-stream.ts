import type { BatchListener, BatchTransport } from '../batch-transport.ts';
import { framesOf } from '../frame-batch.ts';

export interface MemoryStreamOptions {
  /** How many turns of the event loop the next batch takes. */
  readonly delay: () => number;
}

/** A stream of batches within this process, whose network is as slow and unreliable as one likes. */
export class MemoryStream {
  readonly client: BatchTransport;
  readonly server: BatchTransport;
  readonly #toServer: Lane;
  readonly #toClient: Lane;

  constructor({ delay }: MemoryStreamOptions) {
    this.#toServer = new Lane(delay);
    this.#toClient = new Lane(delay);
    this.client = this.#end(this.#toServer);
    this.server = this.#end(this.#toClient);
  }

  connect(client: BatchListener, server: BatchListener): void {
    this.#toServer.listener = server;
    this.#toClient.listener = client;
  }

  /** Messages of gRPC that were sent to the server so far. */
  get messagesToServer(): number {
    return this.#toServer.messages;
  }

  /** The connection is lost; what is under way never arrives. */
  cut(): void {
    this.#toServer.cut();
    this.#toClient.cut();
  }

  #end(lane: Lane): BatchTransport {
    return {
      send: ({ bytes, start }, sent) => lane.send(bytes.subarray(start), sent),
      end: () => lane.end(),
      destroy: () => this.cut(),
    };
  }
}

/** One direction. Batches arrive whole and in order. */
class Lane {
  listener: BatchListener | undefined;
  messages = 0;
  readonly #delay: () => number;
  readonly #arrivals: (() => void)[] = [];
  #isMoving = false;
  #isCut = false;

  constructor(delay: () => number) {
    this.#delay = delay;
  }

  send(message: Buffer, sent: () => void): void {
    this.messages++;
    this.#arrive(() => {
      sent();
      this.listener?.onBatch(framesOf(message) ?? Buffer.of(0));
    });
  }

  end(): void {
    this.#arrive(() => this.listener?.onEnd());
  }

  cut(): void {
    if (this.#isCut) return;
    this.#isCut = true;
    setImmediate(() => this.listener?.onBroken(new Error('cut')));
  }

  #arrive(arrival: () => void): void {
    this.#arrivals.push(arrival);
    if (!this.#isMoving) this.#move(this.#delay());
    this.#isMoving = true;
  }

  #move(turns: number): void {
    setImmediate(() => {
      if (this.#isCut) return;
      if (turns > 0) return this.#move(turns - 1);
      this.#arrivals.shift()?.();
      this.#isMoving = this.#arrivals.length > 0;
      if (this.#isMoving) this.#move(this.#delay());
    });
  }
}
