import type { Clock } from '@gateway/time';

const rememberedMs = 30_000;
const maxPerToken = 200;

/**
 * Requests that ended here a moment ago and may not be in the ledger yet: `GET /v1/usage` waits for them, so that
 * callers read their own writes.
 */
export class RecentRequests {
  readonly #clock: Clock;
  readonly #byToken = new Map<string, EndedRequests>();
  /** Goes round all tokens, one with each request, so that nothing stays for good. */
  #round = this.#byToken.values();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The tokens of which something is remembered. */
  get tokenCount(): number {
    return this.#byToken.size;
  }

  add(tokenId: string, requestId: string): void {
    const nowMs = this.#clock.nowMs();
    let ended = this.#byToken.get(tokenId);
    if (ended === undefined) {
      ended = new EndedRequests(tokenId);
      this.#byToken.set(tokenId, ended);
    }
    ended.add(requestId, nowMs);
    this.#forgetSilent(nowMs - rememberedMs);
  }

  of(tokenId: string): readonly string[] {
    return this.#byToken.get(tokenId)?.since(this.#clock.nowMs() - rememberedMs) ?? [];
  }

  /** These are in the ledger; nobody has to wait for them again. */
  confirm(tokenId: string, requestIds: readonly string[]): void {
    this.#byToken.get(tokenId)?.remove(new Set(requestIds));
  }

  #forgetSilent(sinceMs: number): void {
    let next = this.#round.next();
    if (next.done) {
      this.#round = this.#byToken.values();
      next = this.#round.next();
    }
    if (next.done) return;
    const { tokenId, latestAtMs } = next.value;
    if (latestAtMs <= sinceMs) this.#byToken.delete(tokenId);
  }
}

/** The latest requests of a token: a ring, in which a new one takes the place of the oldest. */
class EndedRequests {
  readonly tokenId: string;
  #latestAtMs = 0;
  #next = 0;
  /** Undefined: confirmed. */
  readonly #requestIds: (string | undefined)[] = [];
  readonly #endedAtMs: number[] = [];

  constructor(tokenId: string) {
    this.tokenId = tokenId;
  }

  get latestAtMs(): number {
    return this.#latestAtMs;
  }

  add(requestId: string, nowMs: number): void {
    this.#latestAtMs = nowMs;
    this.#requestIds[this.#next] = requestId;
    this.#endedAtMs[this.#next] = nowMs;
    this.#next = (this.#next + 1) % maxPerToken;
  }

  /** Oldest first. */
  since(sinceMs: number): readonly string[] {
    const { length } = this.#requestIds;
    const first = length < maxPerToken ? 0 : this.#next;
    const found: string[] = [];
    for (let back = 0; back < length; back++) {
      const place = (first + back) % maxPerToken;
      const requestId = this.#requestIds[place];
      if (requestId !== undefined && (this.#endedAtMs[place] ?? 0) > sinceMs) found.push(requestId);
    }
    return found;
  }

  remove(requestIds: ReadonlySet<string>): void {
    for (const [place, requestId] of this.#requestIds.entries()) {
      if (requestId !== undefined && requestIds.has(requestId)) this.#requestIds[place] = undefined;
    }
  }
}
