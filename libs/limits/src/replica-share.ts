/** One of several replicas of a process that divide a limit among them while they can't ask the one that counts for all of them. */
export interface ReplicaPlace {
  readonly replicas: number;
  /** From 0. */
  readonly position: number;
  /** How long ago the last answer was given that a replica of them had got, of the one for which that is longest. Undefined where the answer lacks it. */
  readonly longestSilenceMs?: number | undefined;
  /** On the clock of the store. */
  readonly answeredAtMs?: number | undefined;
}

/** The part of a limit that falls to a replica: all parts together are the limit. */
export function shareOf(limit: number, { replicas, position }: ReplicaPlace): number {
  return Math.floor(limit / replicas) + (position < limit % replicas ? 1 : 0);
}

/**
 * The place that a replica was given last. A smaller number of replicas is believed only when it has been answered without a pause
 * for as long as a replica may be silent: a store that came back empty has not heard of all of them yet.
 */
export class LastKnownPlace {
  #given: readonly (ReplicaPlace & { readonly atMs: number })[] = [];

  /** Undefined as long as none was given. */
  get current(): ReplicaPlace | undefined {
    return this.#given.toSorted((one, other) => other.replicas - one.replicas)[0];
  }

  /** Without an answer what is known counts as new: the store may have been lost, and come back empty. */
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

/** How often a replica says that it lives. */
export const replicaHeartbeatMs = 2_000;

/** A replica that was silent for so long is gone. */
export const replicaSilenceMs = 10_000;
