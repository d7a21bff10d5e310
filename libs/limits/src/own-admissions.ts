import { epochMs } from '@gateway/time';
import { WINDOW_MS } from './decide.ts';
import type { Heartbeats } from './heartbeats.ts';
import { slicesOf } from './limit-store.ts';
import type { Admission } from './minute-window.ts';

/** What a replica admitted or returned while the remote was away, until the remote has it. */
export class OwnAdmissions {
  #kept: Admission[] = [];
  readonly #heartbeats: Pick<Heartbeats, 'tell'>;

  constructor(heartbeats: Pick<Heartbeats, 'tell'>) {
    this.#heartbeats = heartbeats;
  }

  keep(admission: Admission): void {
    this.#kept.push(admission);
  }

  /** Forgets a slot of which the remote was not told, or keeps its return. */
  giveBack(slot: Admission): void {
    const others = this.#kept.filter(({ key, requestId }) => key !== slot.key || requestId !== slot.requestId);
    if (others.length < this.#kept.length) this.#kept = others;
    else this.keep(slot);
  }

  /** Forgets what has left the windows. */
  forgetOld(): void {
    const oldestMs = epochMs() - WINDOW_MS;
    this.#kept = this.#kept.filter(({ enteredMs }) => enteredMs > oldestMs);
  }

  /**
   * Gives the remote these admissions, by default the kept ones, each with its age. Returns how
   * many there were. If the remote fails, the kept ones stay.
   *
   * @param all everything of the last minute, for a remote that may have lost it.
   * @throws whatever the remote throws.
   */
  async handOver(all?: readonly Admission[]): Promise<number> {
    const kept = this.#kept;
    this.#kept = [];
    const admissions = all ?? kept;
    try {
      for (const some of slicesOf(admissions)) {
        const nowMs = epochMs();
        const ageOf = (enteredMs: number) => Math.max(0, nowMs - enteredMs);
        await this.#heartbeats.tell(
          some.map(({ enteredMs, ...admission }) => ({ ...admission, ageMs: ageOf(enteredMs) })),
        );
      }
    } catch (thrown) {
      this.#kept = [...kept, ...this.#kept];
      throw thrown;
    }
    return admissions.length;
  }
}
