import { type Settlement, slicesOf } from './limit-store.ts';

/** Settles that are due to the remote: each once, the oldest first. */
export class KeptSettles {
  readonly #maxKept: number;
  readonly #settles = new Map<string, Settlement>();

  /** @param maxKept beyond this number the oldest settle is dropped. */
  constructor(maxKept: number) {
    this.#maxKept = maxKept;
  }

  get size(): number {
    return this.#settles.size;
  }

  keep(settlement: Settlement): void {
    this.#settles.set(JSON.stringify([settlement.key, settlement.localDay, settlement.requestId]), settlement);
    const [oldest = ''] = this.#settles.keys();
    if (this.#settles.size > this.#maxKept) this.#settles.delete(oldest);
  }

  /**
   * A settle that the remote rejects must not hold up the others. A remote that accepts none of
   * many is away.
   */
  async replay(settle: (settlement: Settlement) => Promise<unknown>): Promise<void> {
    for (const some of slicesOf([...this.#settles])) {
      const replays = some.map(async ([name, settlement]) => {
        await settle({ ...settlement, late: true });
        this.#settles.delete(name);
      });
      const outcomes = await Promise.allSettled(replays);
      if (outcomes.every(({ status }) => status === 'rejected')) break;
    }
  }
}
