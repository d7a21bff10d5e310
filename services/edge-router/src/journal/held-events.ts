import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { OwnSegment } from './own-segment.ts';
import { batchEvents, type UsageDelivery } from './usage-delivery.ts';

/** A finished request that waits in memory for its confirmation. */
export interface HeldEvent {
  readonly event: UsageRecorded;
  readonly sinceMs: number;
  /** Where its line stands; undefined while it stands nowhere. */
  home: OwnSegment | undefined;
  confirmed: boolean;
}

export interface HeldEventsOptions {
  readonly delivery: UsageDelivery;
  /** No more than so many are held at a time. */
  readonly maxEvents: number;
  readonly onConfirmed: (events: readonly HeldEvent[]) => void;
}

const maxBatchesUnderWay = 4;

/** The events that go to the ledger without a detour over the disk: all of them as long as it takes them. */
export class HeldEvents {
  readonly #options: HeldEventsOptions;
  #queue: HeldEvent[] = [];
  readonly #underWay = new Set<readonly HeldEvent[]>();
  #count = 0;
  #sending = false;
  #empty: PromiseWithResolvers<void> | undefined;

  constructor(options: HeldEventsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#count;
  }

  get oldestSinceMs(): number | undefined {
    const heads = [...this.#underWay, this.#queue].map(([first]) => first?.sinceMs).filter((ms) => ms !== undefined);
    return heads.length === 0 ? undefined : Math.min(...heads);
  }

  /** Takes an event, unless there is no room. */
  offer(event: UsageRecorded, sinceMs: number, home: OwnSegment | undefined): HeldEvent | undefined {
    if (this.#count >= this.#options.maxEvents) return undefined;
    const held: HeldEvent = { event, sinceMs, home, confirmed: false };
    this.#queue.push(held);
    this.#count += 1;
    if (!this.#sending && this.#maySend) {
      this.#sending = true;
      // Events of the same tick share a batch.
      queueMicrotask(() => this.#sendMore());
    }
    return held;
  }

  /** Those whose lines stand nowhere on disk. */
  homeless(): readonly HeldEvent[] {
    return [...this.#underWay, this.#queue].flat().filter(({ home, confirmed }) => home === undefined && !confirmed);
  }

  async whenEmpty(): Promise<void> {
    if (this.#count === 0) return;
    this.#empty ??= Promise.withResolvers();
    await this.#empty.promise;
  }

  #sendMore(): void {
    this.#sending = false;
    while (this.#maySend) void this.#send(this.#queue.splice(0, batchEvents));
  }

  /** One batch at a time takes whatever waits, so that few events go at once and many go together; full ones go beside it. */
  get #maySend(): boolean {
    const waiting = this.#queue.length;
    return this.#underWay.size === 0 ? waiting > 0 : waiting >= batchEvents && this.#underWay.size < maxBatchesUnderWay;
  }

  async #send(batch: readonly HeldEvent[]): Promise<void> {
    this.#underWay.add(batch);
    try {
      await this.#options.delivery.deliver(batch.map(({ event }) => event));
    } catch {
      // Stopped: what has a line on disk is delivered by the next process.
      return;
    }
    this.#underWay.delete(batch);
    this.#count -= batch.length;
    for (const held of batch) held.confirmed = true;
    this.#options.onConfirmed(batch);
    if (this.#count === 0) this.#empty?.resolve();
    if (this.#count === 0) this.#empty = undefined;
    this.#sendMore();
  }
}
