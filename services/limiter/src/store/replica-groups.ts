import { type ReplicaPlace, replicaSilenceMs } from '@gateway/lifecycle/replica-share';

/** Which replicas of which groups were heard of lately, in one process. */
export class ReplicaGroups {
  /** Group → replica → when it was heard of last. */
  readonly #groups = new Map<string, Map<string, number>>();

  heartbeat(group: string, replicaId: string, nowMs: number): ReplicaPlace {
    const heard = this.#groups.get(group) ?? new Map<string, number>();
    this.#groups.set(group, heard);
    heard.set(replicaId, nowMs);
    // Also those that were heard of before the clock was set back.
    for (const [id, atMs] of heard) if (Math.abs(nowMs - atMs) >= replicaSilenceMs) heard.delete(id);
    const before = [...heard.keys()].filter((id) => id < replicaId);
    return { replicas: heard.size, position: before.length };
  }
}
