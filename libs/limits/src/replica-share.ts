/**
 * The position of a replica among those that divide a limit while they can't reach the store that
 * counts for all of them.
 */
export interface ReplicaPlace {
  readonly replicas: number;
  /** Counts from 0. */
  readonly position: number;
  /**
   * Each replica has a last answer that it got; this is the age of the oldest of these. Undefined
   * when the answer lacks it.
   */
  readonly longestSilenceMs?: number;
  /** By the store's clock. */
  readonly answeredAtMs?: number | undefined;
}

/** A replica's part of a limit. All parts add up to the limit. */
export function shareOf(limit: number, { replicas, position }: ReplicaPlace): number {
  return Math.floor(limit / replicas) + (position < limit % replicas ? 1 : 0);
}

/**
 * The place that a replica was given last. A smaller number of replicas is accepted only after it
 * was reported without interruption for as long as a replica may be silent: a store that came back
 * empty has not heard from all replicas yet.
 */
export class LastKnownPlace {
  /** The one among most replicas first: a new place replaces all that are not among more. */
  #given: readonly (ReplicaPlace & { readonly atMs: number })[] = [];

  /** Undefined until a place is given. */
  get current(): ReplicaPlace | undefined {
    return this.#given[0];
  }

  /**
   * Without an answer, the known place counts as new: the store may have lost its data and come
   * back empty.
   */
  note(answered: ReplicaPlace | undefined, atMs: number): void {
    if (answered === undefined) {
      this.#given = this.#given.map((place) => ({ ...place, atMs }));
      return;
    }
    const { replicas, position } = answered;
    const recent = this.#given.filter((place) => place.atMs > atMs - replicaSilenceMs && place.replicas > replicas);
    this.#given = [...recent, { replicas, position, atMs }];
  }
}

/** How often a replica reports that it is alive. */
export const replicaHeartbeatMs = 2_000;

/** A replica that is silent for this long is considered gone. */
export const replicaSilenceMs = 10_000;
