import { setTimeout as sleep } from 'node:timers/promises';
import type { UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import type { UsageDelivery } from './usage-delivery.ts';

/** A part of what waits on disk. */
export interface Backlog {
  /** Its events in batches. Read again from the start when it fails. */
  read(): AsyncIterable<readonly UsageRecorded[]>;
  /** Every event of it is confirmed. */
  delivered(): void;
  /** It failed every time; what could be read of it is delivered. */
  unreadable(): void;
}

export interface BacklogDrainOptions {
  readonly delivery: UsageDelivery;
  /** What is to be delivered next, oldest first; undefined when nothing waits. Gives each part once. */
  readonly next: () => Backlog | undefined;
  readonly onDelivered: (events: number) => void;
  readonly onFault: (fault: unknown) => void;
  /** Pause before a part is read again; a second unless told. */
  readonly retryMs?: number;
}

const maxBatchesUnderWay = 4;
const maxReads = 3;

/** Brings what waits on disk to the ledger: never more than a few batches of it are in memory. */
export class BacklogDrain implements AsyncDisposable {
  readonly #options: BacklogDrainOptions;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #draining: Promise<void> | undefined;

  constructor(options: BacklogDrainOptions) {
    this.#options = options;
  }

  /** There may be something to deliver. */
  wake(): void {
    if (this.#stop.signal.aborted) return;
    this.#draining ??= this.#drainAll().finally(() => {
      this.#draining = undefined;
    });
  }

  /** Called after delivery has stopped. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#draining;
    await Promise.all(this.#underWay);
  }

  async #drainAll(): Promise<void> {
    // What is read while the sink is away would only wait in memory.
    while (await this.#options.delivery.whenTaking()) {
      const backlog = this.#stop.signal.aborted ? undefined : this.#options.next();
      if (backlog === undefined) return;
      await this.#drain(backlog);
    }
  }

  /** Resolves when all of it is read: its last batches are confirmed while the next part is read. */
  async #drain(backlog: Backlog): Promise<void> {
    let unconfirmed = 0;
    let end: 'delivered' | 'unreadable' | undefined;
    const settle = () => {
      if (unconfirmed === 0 && end !== undefined) backlog[end]();
    };
    for (let reads = 1; end === undefined; reads++) {
      try {
        for await (const events of backlog.read()) {
          if (this.#stop.signal.aborted) return;
          unconfirmed += 1;
          await this.#send(events, () => {
            unconfirmed -= 1;
            settle();
          });
        }
        end = 'delivered';
      } catch (fault) {
        this.#options.onFault(fault);
        if (reads === maxReads) end = 'unreadable';
        else await this.#pause();
        if (this.#stop.signal.aborted) return;
      }
    }
    settle();
  }

  /** Resolves when there is room for another batch. */
  async #send(events: readonly UsageRecorded[], onConfirmed: () => void): Promise<void> {
    const sending = this.#options.delivery
      .deliver(events)
      .then(
        () => {
          this.#options.onDelivered(events.length);
          onConfirmed();
        },
        () => undefined, // Stopped: the next process delivers it.
      )
      .finally(() => this.#underWay.delete(sending));
    this.#underWay.add(sending);
    if (this.#underWay.size >= maxBatchesUnderWay) await Promise.race(this.#underWay);
  }

  async #pause(): Promise<void> {
    const { signal } = this.#stop;
    await sleep(this.#options.retryMs ?? 1_000, undefined, { signal }).catch(() => undefined);
  }
}
