import type { Clock } from '@gateway/time';
import type { GrantKey } from '../grants/grant-store.ts';
import type { HeldLock, RefreshLock } from './refresh-lock.ts';

/** A lock among the brokers of one process. */
export class MemoryRefreshLock implements RefreshLock {
  readonly #clock: Clock;
  readonly #held = new Map<string, { readonly fence: number; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async take({ accountId, origin }: GrantKey, ttlMs: number, above: number): Promise<HeldLock | undefined> {
    const key = `${accountId} ${origin}`;
    const before = this.#held.get(key);
    if (before !== undefined && this.#clock.nowMs() < before.untilMs) return undefined;
    const held = { fence: Math.max(before?.fence ?? 0, above) + 1, untilMs: this.#clock.nowMs() + ttlMs };
    this.#held.set(key, held);
    const isHeld = () => this.#held.get(key) === held && this.#clock.nowMs() < held.untilMs;
    return {
      fence: held.fence,
      extend: async (moreMs) => {
        if (!isHeld()) return false;
        held.untilMs = this.#clock.nowMs() + moreMs;
        return true;
      },
      release: async () => {
        held.untilMs = 0;
      },
    };
  }
}
