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
  readonly #totals: BoundedMap<KeptTotal>;

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
    if (seen === undefined) {
      this.#totals.set(key, { day, usedTokens, seenAtMs });
    } else if (isNewer({ day, usedTokens, seenAtMs }, seen)) {
      seen.day = day;
      seen.usedTokens = usedTokens;
      seen.seenAtMs = seenAtMs;
    }
  }
}

/** A total grows, and answers may overtake each other; one that stays lower was put right. */
function isNewer(total: KeptTotal, seen: KeptTotal): boolean {
  if (total.day !== seen.day) return total.day > seen.day;
  return total.usedTokens >= seen.usedTokens || total.seenAtMs - seen.seenAtMs >= overtakenWithinMs;
}

interface KeptTotal {
  day: LocalDay;
  usedTokens: number;
  seenAtMs: number;
}

const overtakenWithinMs = 1_000;
