import { randomUUID } from 'node:crypto';
import type { FallbackOptions } from './fallback-options.ts';
import type { OwnAdmission } from './limit-store.ts';
import { LastKnownPlace, type ReplicaPlace } from './replica-share.ts';

/** What a replica tells the remote of itself, and the place among others that it is given for it. */
export class Heartbeats {
  readonly #options: Pick<FallbackOptions, 'remote' | 'clock' | 'group'>;
  readonly #replicaId = randomUUID();
  readonly #place = new LastKnownPlace();
  /** By which the remote tells a heartbeat of now from one that was held up during an outage. */
  #lastAnsweredAtMs: number | undefined;

  constructor(options: Pick<FallbackOptions, 'remote' | 'clock' | 'group'>) {
    this.#options = options;
  }

  /** Undefined as long as none was given. */
  get place(): ReplicaPlace | undefined {
    return this.#place.current;
  }

  /** Says that this replica lives. Answers its place, unless the answer `isOfNow` no more. */
  async beat(isOfNow: () => boolean): Promise<ReplicaPlace | undefined> {
    const { clock, group } = this.#options;
    let place: ReplicaPlace | undefined;
    try {
      const answered = await this.#touch(group, []);
      if (isOfNow()) place = answered;
    } finally {
      this.#place.note(place, clock.nowMs());
    }
    return place;
  }

  /** Gives the remote what it may not know. Whether it takes that, also when it is nothing, shows whether it is there. */
  async tell(admissions: readonly OwnAdmission[]): Promise<void> {
    const { clock, group } = this.#options;
    try {
      await this.#touch(`${group}:returning`, admissions);
    } finally {
      // What is known of the others must not grow old meanwhile.
      this.#place.note(undefined, clock.nowMs());
    }
  }

  async #touch(group: string, admissions: readonly OwnAdmission[]): Promise<ReplicaPlace | undefined> {
    const beat = { group, replicaId: this.#replicaId, admissions, lastAnsweredAtMs: this.#lastAnsweredAtMs };
    const answered = await this.#options.remote.heartbeat(beat);
    this.#lastAnsweredAtMs = answered?.answeredAtMs ?? this.#lastAnsweredAtMs;
    return answered;
  }
}
