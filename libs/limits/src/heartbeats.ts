import { epochMs, randomId } from '@gateway/time';
import type { FallbackOptions } from './fallback-options.ts';
import type { OwnAdmission } from './limit-store.ts';
import { LastKnownPlace, type ReplicaPlace } from './replica-share.ts';

/**
 * What a replica reports to the remote about itself, and the place among replicas that it gets in
 * return.
 */
export class Heartbeats {
  readonly #options: Pick<FallbackOptions, 'remote' | 'group'>;
  readonly #replicaId = randomId();
  readonly #place = new LastKnownPlace();
  /** Lets the remote tell a current heartbeat from one that was delayed by an outage. */
  #lastAnsweredAtMs: number | undefined;

  constructor(options: Pick<FallbackOptions, 'remote' | 'group'>) {
    this.#options = options;
  }

  /** Undefined until the remote gives one. */
  get place(): ReplicaPlace | undefined {
    return this.#place.current;
  }

  /**
   * Reports that this replica is alive. Returns its place, unless `isOfNow` says that the answer is
   * out of date.
   */
  async beat(isOfNow: () => boolean): Promise<ReplicaPlace | undefined> {
    const { group } = this.#options;
    let place: ReplicaPlace | undefined;
    try {
      const answered = await this.#touch(group, []);
      if (isOfNow()) place = answered;
    } finally {
      this.#place.note(place, epochMs());
    }
    return place;
  }

  /**
   * Gives the remote what it may lack. Whether the remote accepts it, even an empty list, shows
   * whether the remote is reachable.
   */
  async tell(admissions: readonly OwnAdmission[]): Promise<void> {
    const { group } = this.#options;
    try {
      await this.#touch(`${group}:returning`, admissions);
    } finally {
      // What is known about the other replicas must not expire in the meantime.
      this.#place.note(undefined, epochMs());
    }
  }

  async #touch(group: string, admissions: readonly OwnAdmission[]): Promise<ReplicaPlace | undefined> {
    const beat = { group, replicaId: this.#replicaId, admissions, lastAnsweredAtMs: this.#lastAnsweredAtMs };
    const answered = await this.#options.remote.heartbeat(beat);
    this.#lastAnsweredAtMs = answered?.answeredAtMs ?? this.#lastAnsweredAtMs;
    return answered;
  }
}
