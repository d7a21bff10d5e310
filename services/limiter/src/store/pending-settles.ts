import type { Settlement } from './limit-store.ts';

/** Settles that the store must still be told, each once, the oldest first. */
export class PendingSettles {
  readonly #settlements = new Map<string, Settlement>();
  readonly #maxEntries: number;
  readonly #onDropped: () => void;

  constructor(maxEntries: number, onDropped: () => void) {
    this.#maxEntries = maxEntries;
    this.#onDropped = onDropped;
  }

  get size(): number {
    return this.#settlements.size;
  }

  add(settlement: Settlement): void {
    this.#settlements.set(nameOf(settlement), settlement);
    if (this.#settlements.size <= this.#maxEntries) return;
    const oldest = this.#settlements.keys().next().value;
    if (oldest !== undefined) this.#settlements.delete(oldest);
    this.#onDropped();
  }

  /** Tells each of them, a few hundred at a time. Those that fail stay. */
  async tell(settle: (settlement: Settlement) => Promise<unknown>): Promise<void> {
    const waiting = [...this.#settlements.values()];
    for (let start = 0; start < waiting.length; start += atOnce) {
      const outcomes = await Promise.allSettled(
        waiting.slice(start, start + atOnce).map((one) => this.#tellOne(one, settle)),
      );
      if (outcomes.every(({ status }) => status === 'rejected')) return;
    }
  }

  async #tellOne(settlement: Settlement, settle: (settlement: Settlement) => Promise<unknown>): Promise<void> {
    await settle(settlement);
    this.#settlements.delete(nameOf(settlement));
  }
}

const atOnce = 500;

function nameOf({ key, localDay, requestId }: Settlement): string {
  return `${localDay}/${key.length}/${key}/${requestId}`;
}
