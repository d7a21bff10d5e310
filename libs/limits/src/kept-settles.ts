import type { FallbackEvents } from './fallback-options.ts';
import { type Settlement, slicesOf } from './limit-store.ts';

export interface KeptSettlesOptions {
  /** Beyond this number the oldest settle is dropped. */
  readonly maxKept: number;
  readonly events: Pick<FallbackEvents, 'settleDropped' | 'settlesWaiting' | 'settleReplayed'>;
}

/** Settles that are due to the remote: each once, the oldest first. */
export class KeptSettles {
  readonly #options: KeptSettlesOptions;
  readonly #settles = new Map<string, Settlement>();

  constructor(options: KeptSettlesOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#settles.size;
  }

  keep(settlement: Settlement): void {
    const { maxKept, events } = this.#options;
    this.#settles.set(JSON.stringify([settlement.key, settlement.localDay, settlement.requestId]), settlement);
    const [oldest = ''] = this.#settles.keys();
    if (this.#settles.size > maxKept) {
      this.#settles.delete(oldest);
      events.settleDropped?.();
    }
    events.settlesWaiting?.(this.#settles.size);
  }

  /**
   * A settle that the remote rejects must not hold up the others. A remote that accepts none of
   * many is away.
   */
  async replay(settle: (settlement: Settlement) => Promise<unknown>): Promise<void> {
    for (const some of slicesOf([...this.#settles])) {
      const replays = some.map(async ([name, settlement]) => {
        await settle({ ...settlement, isLate: true });
        this.#settles.delete(name);
        this.#options.events.settleReplayed?.(settlement);
      });
      const outcomes = await Promise.allSettled(replays);
      if (outcomes.every(({ status }) => status === 'rejected')) break;
    }
    this.#options.events.settlesWaiting?.(this.#settles.size);
  }
}
