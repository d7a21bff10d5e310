import { epochMs, monotonicMs, sleep } from '@gateway/time';

/**
 * The time of Redis, by which all replicas count what they share: their machines' clocks differ.
 * Between answers, and while Redis is away, the monotonic clock of this process carries it on.
 */
export class RedisClock {
  readonly #ask: () => Promise<number>;
  /** How far Redis' clock is ahead of the monotonic clock. Undefined before the first answer. */
  #aheadMs: number | undefined;
  #latestMs = Number.NEGATIVE_INFINITY;

  /** @param ask returns the epoch milliseconds of Redis */
  constructor(ask: () => Promise<number>) {
    this.#ask = ask;
  }

  /** False while it is only the clock of this machine. */
  get isKnown(): boolean {
    return this.#aheadMs !== undefined;
  }

  nowMs(): number {
    if (this.#aheadMs === undefined) return epochMs();
    const nowMs = Math.floor(monotonicMs() + this.#aheadMs);
    // A correction makes time wait. Only a clock of Redis that was set back turns it back.
    const isCorrected = nowMs < this.#latestMs && this.#latestMs - nowMs < largestCorrectionMs;
    if (!isCorrected) this.#latestMs = nowMs;
    return this.#latestMs;
  }

  /** Redis read its clock during the round trip: a slow answer says less than a fast one. */
  async update(): Promise<void> {
    const askedMs = monotonicMs();
    const redisMs = await this.#ask();
    const [leastMs, mostMs] = [redisMs - monotonicMs(), redisMs - askedMs];
    this.#aheadMs = Math.min(mostMs, Math.max(leastMs, this.#aheadMs ?? (leastMs + mostMs) / 2));
  }

  /** Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(updateEveryMs, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.update().catch(() => undefined);
    }
  }
}

const updateEveryMs = 5_000;
const largestCorrectionMs = 1_000;
