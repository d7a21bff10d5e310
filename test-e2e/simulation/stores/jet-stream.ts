import { startTimer } from '@gateway/time';

/** One message of the stream. */
export interface StreamMessage {
  readonly sequence: number;
  readonly data: Uint8Array;
}

/** As in the product's settings: how long NATS itself drops duplicates. */
const duplicateWindowMs = 600_000;
/** How long a consumer has for a message before it is delivered again. */
const acknowledgeWithinMs = 30_000;
/** How long a request for messages stays open when none arrive. */
const fetchExpiresMs = 1_000;

/**
 * A stream with one durable consumer that several processes share. At least once: a message is
 * delivered again until it is acknowledged. An id that is published again within the window is
 * acknowledged and dropped.
 */
export class JetStreamModel {
  readonly #nowMs: () => number;
  readonly #messages = new Map<number, StreamMessage>();
  /** When the delivery of each message expires. */
  readonly #delivered = new Map<number, number>();
  /** Requests for messages that wait. */
  readonly #fetching = new Set<() => void>();
  readonly #knownIds = new Map<string, number>();
  #lastSequence = 0;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** How many messages are not acknowledged. */
  get pending(): number {
    return this.#messages.size;
  }

  async publish(id: string, data: Uint8Array): Promise<void> {
    const nowMs = this.#nowMs();
    for (const [known, atMs] of this.#knownIds) {
      if (atMs > nowMs - duplicateWindowMs) break;
      this.#knownIds.delete(known);
    }
    if (this.#knownIds.has(id)) return;
    this.#knownIds.set(id, nowMs);
    this.#messages.set(++this.#lastSequence, { sequence: this.#lastSequence, data });
    const [fetching] = this.#fetching;
    if (fetching !== undefined) this.#fetching.delete(fetching);
    fetching?.();
  }

  /** Messages that are not being processed, oldest first. Waits a while for some. */
  async fetch(most: number): Promise<readonly StreamMessage[]> {
    const waiting = [...this.#take(most)];
    if (waiting.length > 0) return waiting;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#fetching.add(resolve);
    using _expiry = startTimer(resolve, fetchExpiresMs);
    await promise;
    this.#fetching.delete(resolve);
    return this.#take(most);
  }

  /** Forgets who waits for messages: their connections are lost. */
  forgetFetches(): void {
    this.#fetching.clear();
  }

  #take(most: number): readonly StreamMessage[] {
    const nowMs = this.#nowMs();
    const free = this.#messages.values().filter(({ sequence }) => (this.#delivered.get(sequence) ?? 0) <= nowMs);
    const batch = free.take(most).toArray();
    for (const { sequence } of batch) this.#delivered.set(sequence, nowMs + acknowledgeWithinMs);
    return batch;
  }

  async acknowledge(sequences: readonly number[]): Promise<void> {
    for (const sequence of sequences) {
      this.#messages.delete(sequence);
      this.#delivered.delete(sequence);
    }
  }

  /** Delivers everything that is not acknowledged again, as after a change of the leader. */
  redeliver(): void {
    this.#delivered.clear();
  }
}
