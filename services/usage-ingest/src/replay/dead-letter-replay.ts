import { isRefusedData } from '@gateway/database';
import { refusedReason, tooOldReason } from '../recording/usage-recorder.ts';
import type { DeadLetterStore } from '../store/dead-letter-store.ts';
import type { DeadLetter } from '../store/usage-ledger.ts';
import { readDeadLetter } from './read-dead-letter.ts';

/** What became of one page of letters. */
export interface ReplayedPage {
  /** Letters with an event that was new to the ledger. */
  readonly replayed: number;
  /** Letters whose events the ledger had. */
  readonly duplicates: number;
  readonly stillDead: readonly StillDead[];
  /** Where the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

export interface StillDead {
  readonly letter: DeadLetter;
  readonly reason: string;
}

export interface ReplayOptions {
  readonly dryRun: boolean;
  /** `next` of the page before; empty for the first. */
  readonly after: string;
}

type Outcome = 'replayed' | 'duplicate' | 'gone' | { readonly reason: string };

const lettersAtATime = 200;

/** Reads dead letters again, as this release does, and records those that it understands. */
export class DeadLetterReplay {
  readonly #store: DeadLetterStore;

  constructor(store: DeadLetterStore) {
    this.#store = store;
  }

  async page({ dryRun, after }: ReplayOptions): Promise<ReplayedPage> {
    const letters = await this.#store.after(after, lettersAtATime);
    const outcomes: { readonly letter: DeadLetter; readonly outcome: Outcome }[] = [];
    for (const letter of letters) outcomes.push({ letter, outcome: await this.#replay(letter, dryRun) });
    const count = (wanted: Outcome) => outcomes.filter(({ outcome }) => outcome === wanted).length;
    return {
      replayed: count('replayed'),
      duplicates: count('duplicate'),
      stillDead: outcomes.flatMap(({ letter, outcome }) =>
        typeof outcome === 'string' ? [] : [{ letter, reason: outcome.reason }],
      ),
      next: letters.length === lettersAtATime ? letters.at(-1)?.dead_letter_id : undefined,
    };
  }

  async #replay(letter: DeadLetter, dryRun: boolean): Promise<Outcome> {
    const read = readDeadLetter(Buffer.from(letter.payload, 'base64'));
    if (read.kind === 'unusable') return { reason: read.reason };
    try {
      const added = dryRun
        ? await this.#store.rehearse(read.entries)
        : await this.#store.replay(letter.dead_letter_id, read.entries);
      if (added === undefined) return 'gone';
      if (added.tooOld.length > 0) return { reason: tooOldReason };
      return added.fresh > 0 ? 'replayed' : 'duplicate';
    } catch (thrown) {
      if (!isRefusedData(thrown)) throw thrown;
      return { reason: refusedReason };
    }
  }
}
