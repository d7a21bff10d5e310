import { type ReplicaPlace, replicaSilenceMs } from './replica-share.ts';

/**
 * The time between the return of one replica to the remote and the return of all. The remote's
 * windows lack what the other replicas admitted by themselves and have not handed over, so the
 * remote alone would admit more than the limit.
 */
export class PartialReturn {
  readonly #replicas: number;
  readonly #sinceMs: number;

  /**
   * @param replicas how many there were before.
   * @param sinceMs when this replica finished its hand-over.
   */
  constructor(replicas: number, sinceMs: number) {
    this.#replicas = replicas;
    this.#sinceMs = sinceMs;
  }

  /** A replica that is silent for longer counts as gone, and must not hold up the others. */
  isOver(nowMs: number): boolean {
    return nowMs >= this.#sinceMs + replicaSilenceMs;
  }

  /**
   * Whether all replicas are back: each was heard from after this one returned, and a replica
   * reports only after its hand-over.
   */
  areAllBack({ replicas, longestSilenceMs = 0 }: ReplicaPlace, askedAtMs: number): boolean {
    return replicas >= this.#replicas && longestSilenceMs < askedAtMs - this.#sinceMs;
  }
}
