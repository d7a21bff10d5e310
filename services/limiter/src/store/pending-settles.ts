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
  async tell(settleAll: SettleAll): Promise<void> {
    const waiting = [...this.#settlements.values()];
    for (let start = 0; start < waiting.length; start += atOnce) {
      const some = waiting.slice(start, start + atOnce);
      if (await this.#wereTold(some, settleAll)) continue;
      // One that the store does not take must not keep the others waiting.
      const outcomes = await Promise.all(some.map((one) => this.#wereTold([one], settleAll)));
      if (!outcomes.includes(true)) return;
    }
  }

  async #wereTold(settlements: readonly Settlement[], settleAll: SettleAll): Promise<boolean> {
    try {
      await settleAll(settlements);
    } catch {
      return false;
    }
    for (const settlement of settlements) this.#settlements.delete(nameOf(settlement));
    return true;
  }
}

type SettleAll = (settlements: readonly Settlement[]) => Promise<unknown>;

const atOnce = 500;

function nameOf({ key, localDay, requestId }: Settlement): string {
  return `${localDay}/${key.length}/${key}/${requestId}`;
}
