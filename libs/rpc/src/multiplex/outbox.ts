import type { MessageBytes } from '../wire/message-in-parts.ts';
import type { BatchTransport } from './batch-transport.ts';
import { FrameBatch } from './frame-batch.ts';
import type { MultiplexLimits } from './limits.ts';

/** A call with pieces that wait for their turn. */
export interface PieceSource {
  /** Writes one piece through `addPiece`. False when no more can follow for now. */
  writePiece(): boolean;
}

/** Wants to know when what it added last has been handed to the network. */
export interface Departure {
  onDeparture(): void;
}

/**
 * All that goes out on one stream. Frames that are added in the same turn of the event loop leave as one message. While
 * the network takes nothing, calls queue as sources and then take turns, piece by piece.
 */
export class Outbox {
  readonly #transport: BatchTransport;
  readonly limits: MultiplexLimits;
  readonly #sources: PieceSource[] = [];
  readonly #sealed: Parcel[] = [];
  #open: Parcel | undefined;
  #inFlight = 0;
  /** The next batch is likely to be as long as the last one. */
  #lastLength = 0;
  #flushing: NodeJS.Immediate | undefined;
  #ending = false;
  #closed = false;

  constructor(transport: BatchTransport, limits: MultiplexLimits) {
    this.#transport = transport;
    this.limits = limits;
  }

  /** Whether a call may add a message at once, or must queue for its turn. */
  get hasRoom(): boolean {
    return this.#sealed.length === 0 && this.#sources.length === 0 && this.#inFlight < this.limits.inFlightBytes;
  }

  /** Whether there is nothing left to send. */
  get isIdle(): boolean {
    return this.#open === undefined && this.#sealed.length === 0 && this.#sources.length === 0;
  }

  add(head: number, callId: number, payload?: MessageBytes): void {
    this.#parcel().batch.add(head, callId, payload);
    this.#added();
  }

  addNumber(head: number, callId: number, value: number): void {
    this.#parcel().batch.addNumber(head, callId, value);
    this.#added();
  }

  /** As `add`, with somebody to tell when the frame leaves. */
  addWithDeparture(head: number, callId: number, payload: Uint8Array, departure: Departure): void {
    const parcel = this.#parcel();
    parcel.batch.add(head, callId, payload);
    parcel.departures.push(departure);
    this.#added();
  }

  /** Queues a call for its turn. A source queues once at a time. */
  queue(source: PieceSource): void {
    if (this.#closed) return;
    this.#sources.push(source);
    this.#flushSoon();
  }

  /** Ends this side once all that is queued has been sent. */
  end(): void {
    this.#ending = true;
    this.#flushSoon();
  }

  /** Sends what is queued without waiting for its turn, so that a last word precedes the end of the stream. */
  flush(): void {
    clearImmediate(this.#flushing);
    this.#flush();
  }

  /** The stream is gone: whatever is queued or added is dropped. */
  close(): void {
    this.#closed = true;
    clearImmediate(this.#flushing);
    this.#sources.length = 0;
    this.#sealed.length = 0;
    this.#open = undefined;
  }

  #parcel(): Parcel {
    this.#open ??= { batch: new FrameBatch(this.#lastLength), departures: [] };
    return this.#open;
  }

  #added(): void {
    if (this.#closed) {
      this.#open = undefined;
      return;
    }
    if ((this.#open?.batch.length ?? 0) >= this.limits.batchBytes) this.#seal();
    this.#flushSoon();
  }

  #seal(): void {
    if (this.#open !== undefined) this.#sealed.push(this.#open);
    this.#open = undefined;
  }

  #flushSoon(): void {
    this.#flushing ??= setImmediate(this.#onTurn);
  }

  readonly #onTurn = () => this.#flush();

  #flush(): void {
    this.#flushing = undefined;
    while (!this.#closed && this.#inFlight < this.limits.inFlightBytes) {
      const parcel = this.#next();
      if (parcel === undefined) break;
      this.#send(parcel);
    }
    if (this.#ending && this.isIdle && !this.#closed) {
      this.#closed = true;
      this.#transport.end();
    }
  }

  #next(): Parcel | undefined {
    while (this.#sealed.length === 0 && this.#sources.length > 0) this.#takeTurn();
    if (this.#sealed.length === 0) this.#seal();
    return this.#sealed.shift();
  }

  #takeTurn(): void {
    const source = this.#sources.shift();
    if (source?.writePiece()) this.#sources.push(source);
  }

  #send({ batch, departures }: Parcel): void {
    const { length } = batch;
    this.#inFlight += length;
    this.#lastLength = Math.min(length, mostExpectedBytes);
    for (const departure of departures) departure.onDeparture();
    this.#transport.send(batch.toMessage(), () => {
      this.#inFlight -= length;
      if (!this.isIdle || this.#ending) this.#flushSoon();
    });
  }
}

/** A small batch that follows a large one must not take the room of a large one. */
const mostExpectedBytes = 16 * 1024;

/** A batch, and who waits for it to leave. */
interface Parcel {
  readonly batch: FrameBatch;
  readonly departures: Departure[];
}
