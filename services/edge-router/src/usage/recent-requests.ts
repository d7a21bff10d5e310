import type { Clock } from '@gateway/time';

interface Finished {
  readonly requestId: string;
  readonly atMs: number;
}

const rememberedMs = 30_000;
const maxPerToken = 200;

/**
 * Requests that ended here a moment ago and may not be in the ledger yet: `GET /v1/usage` waits for them, so that
 * callers read their own writes.
 */
export class RecentRequests {
  readonly #clock: Clock;
  readonly #byToken = new Map<string, Finished[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(tokenId: string, requestId: string): void {
    const finished = this.#stillRecent(tokenId);
    if (finished.length === maxPerToken) finished.shift();
    finished.push({ requestId, atMs: this.#clock.nowMs() });
    this.#byToken.delete(tokenId);
    this.#byToken.set(tokenId, finished);
    this.#dropOldTokens();
  }

  of(tokenId: string): readonly string[] {
    return this.#stillRecent(tokenId).map(({ requestId }) => requestId);
  }

  /** These are in the ledger; nobody has to wait for them again. */
  confirm(tokenId: string, requestIds: readonly string[]): void {
    const confirmed = new Set(requestIds);
    const left = this.#stillRecent(tokenId).filter(({ requestId }) => !confirmed.has(requestId));
    if (left.length === 0) this.#byToken.delete(tokenId);
    else this.#byToken.set(tokenId, left);
  }

  #stillRecent(tokenId: string): Finished[] {
    const since = this.#clock.nowMs() - rememberedMs;
    return (this.#byToken.get(tokenId) ?? []).filter(({ atMs }) => atMs > since);
  }

  /** Tokens stand in the order of their last request, so the ones to drop come first. */
  #dropOldTokens(): void {
    for (const [tokenId] of this.#byToken) {
      if (this.#stillRecent(tokenId).length > 0) return;
      this.#byToken.delete(tokenId);
    }
  }
}
