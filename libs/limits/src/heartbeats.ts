import { epochMs, randomId } from '@gateway/time';
import { WINDOW_MS } from './decide.ts';
import { type OwnAdmission, type RemoteLimits, slicesOf } from './limit-store.ts';
import type { Admission } from './minute-window.ts';
import { LastKnownPlace, type ReplicaPlace } from './replica-share.ts';

/**
 * What a replica reports to the remote about itself, and the place among replicas that it gets in
 * return.
 */
export class Heartbeats {
  readonly #remote: Pick<RemoteLimits, 'heartbeat'>;
  readonly #replicaId = randomId();
  readonly #place = new LastKnownPlace();
  /** Lets the remote tell a current heartbeat from one that was delayed by an outage. */
  #lastAnsweredAtMs: number | undefined;

  constructor(remote: Pick<RemoteLimits, 'heartbeat'>) {
    this.#remote = remote;
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
    let place: ReplicaPlace | undefined;
    try {
      const answered = await this.#touch(edges, []);
      if (isOfNow()) place = answered;
    } finally {
      this.#place.note(place, epochMs());
    }
    return place;
  }

  /** Whether the remote is reachable. @throws whatever the remote throws. */
  probe(): Promise<void> {
    return this.#return([]);
  }

  /** Gives the remote what it may lack, each with its age. @throws whatever the remote throws. */
  async tell(admissions: readonly Admission[]): Promise<void> {
    for (const some of slicesOf(admissions)) {
      const nowMs = epochMs();
      const aged = some.map(({ enteredMs, ...admission }) => ({ ...admission, ageMs: Math.max(0, nowMs - enteredMs) }));
      await this.#return(aged.filter(({ ageMs }) => ageMs < WINDOW_MS));
    }
  }

  async #return(admissions: readonly OwnAdmission[]): Promise<void> {
    try {
      await this.#touch(`${edges}:returning`, admissions);
    } finally {
      // What is known about the other replicas must not expire in the meantime.
      this.#place.note(undefined, epochMs());
    }
  }

  async #touch(group: string, admissions: readonly OwnAdmission[]): Promise<ReplicaPlace | undefined> {
    const beat = { group, replicaId: this.#replicaId, admissions, lastAnsweredAtMs: this.#lastAnsweredAtMs };
    const answered = await this.#remote.heartbeat(beat);
    this.#lastAnsweredAtMs = answered?.answeredAtMs ?? this.#lastAnsweredAtMs;
    return answered;
  }
}

/** The replicas that share limits while the remote is away. */
const edges = 'edge';
