import { type ReplicaPlace, replicaHeartbeatMs } from './replica-share.ts';

/**
 * The time between the return of one replica to the remote and that of all. What the others admitted by themselves and have not handed
 * over is missing from the remote's windows, so that its word alone would admit more than the limit.
 */
export class PartialReturn {
  readonly #replicas: number;
  readonly #sinceMs: number;

  /**
   * @param replicas how many there were before.
   * @param sinceMs when this one had handed over what it admitted.
   */
  constructor(replicas: number, sinceMs: number) {
    this.#replicas = replicas;
    this.#sinceMs = sinceMs;
  }

  /** A replica that never was away says so within this time. One that stays away, or has stopped, must not hold up the others for longer. */
  isOver(nowMs: number): boolean {
    return nowMs >= this.#sinceMs + replicaHeartbeatMs;
  }

  /** Whether all are back: each was heard of after this one had returned, and is heard of only when it has handed over. */
  areAllBack({ replicas, longestSilenceMs = 0 }: ReplicaPlace, askedAtMs: number): boolean {
    return replicas >= this.#replicas && longestSilenceMs < askedAtMs - this.#sinceMs;
  }
}
