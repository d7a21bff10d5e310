import { startTimer } from '@gateway/time';

/** One message of the stream. */
export interface StreamMessage {
  readonly sequence: number;
  readonly id: string;
  readonly publishedAtMs: number;
  readonly data: Uint8Array;
}

/** The default of a server: how long it may hold what it has acknowledged before it is on disk. */
export const syncIntervalMs = 120_000;

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
  /** What was acknowledged when: on disk after `syncIntervalMs`. */
  readonly #acknowledged = new Map<StreamMessage, number>();
  /** Acknowledged to its publisher, and gone before anyone had read it. */
  readonly lost: StreamMessage[] = [];
  /** Until then no one gets an answer. */
  #silent = { untilMs: 0, stores: false };
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
    const isSilent = nowMs < this.#silent.untilMs;
    if (!isSilent || this.#silent.stores) this.#store(id, data, nowMs);
    if (isSilent) await never;
  }

  #store(id: string, data: Uint8Array, nowMs: number): void {
    for (const [known, atMs] of this.#knownIds) {
      if (atMs > nowMs - duplicateWindowMs) break;
      this.#knownIds.delete(known);
    }
    if (this.#knownIds.has(id)) return;
    this.#knownIds.set(id, nowMs);
    const message = { sequence: ++this.#lastSequence, id, publishedAtMs: nowMs, data };
    this.#messages.set(message.sequence, message);
    const [fetching] = this.#fetching;
    if (fetching !== undefined) this.#fetching.delete(fetching);
    fetching?.();
  }

  /** Messages that are not being processed, oldest first. Waits a while for some. */
  async fetch(most: number): Promise<readonly StreamMessage[]> {
    const waiting = this.#take(most);
    if (waiting.length > 0) return this.#answer(waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#fetching.add(resolve);
    using _expiry = startTimer(resolve, fetchExpiresMs);
    await promise;
    this.#fetching.delete(resolve);
    return this.#answer(this.#take(most));
  }

  /** Forgets who waits for messages: their connections are lost. */
  forgetFetches(): void {
    this.#fetching.clear();
  }

  #take(most: number): readonly StreamMessage[] {
    const nowMs = this.#nowMs();
    if (nowMs < this.#silent.untilMs && !this.#silent.stores) return [];
    const free = this.#messages.values().filter(({ sequence }) => (this.#delivered.get(sequence) ?? 0) <= nowMs);
    const batch = free.take(most).toArray();
    for (const { sequence } of batch) this.#delivered.set(sequence, nowMs + acknowledgeWithinMs);
    return batch;
  }

  async acknowledge(sequences: readonly number[]): Promise<void> {
    const nowMs = this.#nowMs();
    if (nowMs < this.#silent.untilMs && !this.#silent.stores) return never;
    for (const [message, atMs] of this.#acknowledged) {
      if (atMs <= nowMs - syncIntervalMs) this.#acknowledged.delete(message);
    }
    for (const sequence of sequences) {
      const message = this.#messages.get(sequence);
      if (message !== undefined) this.#acknowledged.set(message, nowMs);
      this.#messages.delete(sequence);
      this.#delivered.delete(sequence);
    }
    return this.#answer(undefined);
  }

  /** Delivers everything that is not acknowledged again, as after a change of the leader. */
  redeliver(): void {
    this.#delivered.clear();
  }

  /**
   * Answers no one for a while. In an election nothing changes either; else only the answers are
   * lost.
   */
  fallSilent(forMs: number, stores: boolean): void {
    this.#silent = { untilMs: this.#nowMs() + forMs, stores };
  }

  /** Its machine loses what it has not written in the last `lostMs`: messages, and their ends. */
  losePower(lostMs: number): void {
    const sinceMs = this.#nowMs() - lostMs;
    for (const [message, atMs] of this.#acknowledged) {
      if (atMs <= sinceMs) continue;
      this.#acknowledged.delete(message);
      if (message.publishedAtMs <= sinceMs) this.#messages.set(message.sequence, message);
      else this.#knownIds.delete(message.id);
    }
    for (const message of this.#messages.values()) {
      if (message.publishedAtMs <= sinceMs) continue;
      this.#messages.delete(message.sequence);
      this.#knownIds.delete(message.id);
      this.lost.push(message);
    }
    this.redeliver();
  }

  #answer<T>(value: T): T | Promise<T> {
    return this.#nowMs() < this.#silent.untilMs ? never : value;
  }
}

const never = new Promise<never>(() => undefined);
