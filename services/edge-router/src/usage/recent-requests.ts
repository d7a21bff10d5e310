import type { Clock } from '@gateway/time';

const rememberedMs = 30_000;
const maxPerToken = 200;

/**
 * Requests that ended here a moment ago and may not be in the ledger yet: `GET /v1/usage` waits for them, so that
 * callers read their own writes.
 */
export class RecentRequests {
  readonly #clock: Clock;
  /** Token → its request ids with the time of their end, oldest first. Tokens stand in the order of their last request. */
  readonly #byToken = new Map<string, Map<string, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The tokens of which something is remembered. */
  get tokenCount(): number {
    return this.#byToken.size;
  }

  add(tokenId: string, requestId: string): void {
    const now = this.#clock.nowMs();
    const ended = this.#byToken.get(tokenId) ?? new Map<string, number>();
    if (ended.size === maxPerToken) dropFirst(ended);
    ended.set(requestId, now);
    this.#byToken.delete(tokenId);
    this.#byToken.set(tokenId, ended);
    this.#dropOld(now);
  }

  of(tokenId: string): readonly string[] {
    const since = this.#clock.nowMs() - rememberedMs;
    return [...(this.#byToken.get(tokenId) ?? [])].flatMap(([requestId, atMs]) => (atMs > since ? [requestId] : []));
  }

  /** These are in the ledger; nobody has to wait for them again. */
  confirm(tokenId: string, requestIds: readonly string[]): void {
    const ended = this.#byToken.get(tokenId);
    for (const requestId of requestIds) ended?.delete(requestId);
    if (ended?.size === 0) this.#byToken.delete(tokenId);
  }

  /** Of the token that was silent for longest; each request drops more than it adds, so that nothing stays for good. */
  #dropOld(now: number): void {
    const [longestSilent] = this.#byToken;
    if (longestSilent === undefined) return;
    const [tokenId, ended] = longestSilent;
    let dropped = 0;
    for (const [requestId, atMs] of ended) {
      if (atMs > now - rememberedMs || dropped++ === 2) break;
      ended.delete(requestId);
    }
    if (ended.size === 0) this.#byToken.delete(tokenId);
  }
}

function dropFirst(ended: Map<string, number>): void {
  for (const requestId of ended.keys()) {
    ended.delete(requestId);
    return;
  }
}
