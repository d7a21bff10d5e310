import type { Clock, LocalDay } from '@gateway/time';
import { dayForgottenAtMs } from '../windows/day-budget.ts';
import { BoundedMap } from './bounded-map.ts';

export interface SeenTotal {
  readonly day: LocalDay;
  readonly usedTokens: number;
}

/** The day totals that were seen last, one for each key. */
export class SeenTotals {
  readonly #clock: Clock;
  readonly #totals: BoundedMap<SeenTotal & { readonly seenAtMs: number }>;

  constructor(clock: Clock, maxKeys: number) {
    this.#clock = clock;
    this.#totals = new BoundedMap({
      maxEntries: maxKeys,
      isIdle: ({ day }, nowMs) => dayForgottenAtMs(day) <= nowMs,
    });
  }

  get(key: string): SeenTotal | undefined {
    return this.#totals.get(key);
  }

  note(key: string, day: LocalDay, usedTokens: number): void {
    const seenAtMs = this.#clock.nowMs();
    this.#totals.forgetIdle(seenAtMs);
    const seen = this.#totals.get(key);
    // A total grows, and answers may overtake each other; one that stays lower was put right.
    const isNewer =
      seen === undefined ||
      seen.day < day ||
      (seen.day === day && (usedTokens >= seen.usedTokens || seenAtMs - seen.seenAtMs >= overtakenWithinMs));
    if (isNewer) this.#totals.set(key, { day, usedTokens, seenAtMs });
  }
}

const overtakenWithinMs = 1_000;
