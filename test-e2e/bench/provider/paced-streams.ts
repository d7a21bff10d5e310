import type { Socket } from 'node:net';
import type { FixedAnswer } from './fixed-answers.ts';

/**
 * Writes the events of many streams at one pace. Streams keep the phase in which they began, spread
 * over the pause, so that their events do not come in bursts. One timer serves all of them.
 */
export class PacedStreams {
  readonly #slots: readonly Set<PacedStream>[];
  readonly #msPerSlot: number;
  #timer: NodeJS.Timeout | undefined;
  #nextSlot = 0;
  #nextAtMs = 0;
  #open = 0;

  constructor(msBetweenEvents: number) {
    this.#slots = Array.from({ length: Math.min(msBetweenEvents, 100) }, () => new Set<PacedStream>());
    this.#msPerSlot = msBetweenEvents / this.#slots.length;
  }

  /**
   * Begins with the head and the first event, or the first texts of an endless stream. Continues
   * until the last event, or until the client leaves.
   */
  begin(socket: Socket, answer: FixedAnswer, options: { readonly endless: boolean }): void {
    const slot = this.#slots[this.#nextSlot] ?? new Set();
    const next = options.endless ? eventsAtOnce : 1;
    const stream = { socket, answer, endless: options.endless, next };
    socket.write(Buffer.concat([answer.streamHead, ...answer.events.slice(0, next)]));
    slot.add(stream);
    this.#open += 1;
    this.#start();
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#nextAtMs = performance.now() + this.#msPerSlot;
    this.#timer = setInterval(() => this.#catchUp(), 1);
  }

  #catchUp(): void {
    const nowMs = performance.now();
    for (; this.#nextAtMs <= nowMs; this.#nextAtMs += this.#msPerSlot) {
      this.#nextSlot = (this.#nextSlot + 1) % this.#slots.length;
      const slot = this.#slots[this.#nextSlot] ?? new Set();
      for (const stream of slot) this.#writeNext(slot, stream);
    }
    if (this.#open > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #writeNext(slot: Set<PacedStream>, stream: PacedStream): void {
    const { socket, answer } = stream;
    if (socket.destroyed) return this.#end(slot, stream);
    const last = answer.events.length - 1;
    // An endless stream repeats an event from its middle.
    if (stream.endless && stream.next === last - 10) stream.next -= 1;
    const event = answer.events[stream.next] ?? answer.streamEnd;
    const isLast = stream.next === last;
    stream.next += 1;
    socket.write(isLast ? Buffer.concat([event, answer.streamEnd]) : event);
    if (isLast) this.#end(slot, stream);
  }

  #end(slot: Set<PacedStream>, stream: PacedStream): void {
    if (slot.delete(stream)) this.#open -= 1;
  }
}

/**
 * More events than precede the first text in either format: a gateway may wait for the text before
 * it answers.
 */
const eventsAtOnce = 8;

interface PacedStream {
  readonly socket: Socket;
  readonly answer: FixedAnswer;
  readonly endless: boolean;
  next: number;
}
