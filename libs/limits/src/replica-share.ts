import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LRUCache } from 'lru-cache';
import type { Decision } from './decide.ts';
import { type Check, type KeyLimits, type Subject, subjectsOf } from './limited-key.ts';

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
  /** Whether the store may lack what the replica admitted: it had not heard of the replica. */
  readonly isNew?: boolean;
}

/** A replica's part of a limit. All parts add up to the limit. */
export function shareOf(limit: number, { replicas, position }: ReplicaPlace): number {
  return Math.floor(limit / replicas) + (position < limit % replicas ? 1 : 0);
}

/** With a place, replicas share a budget: each may spend its part of what was left. */
export interface Shared {
  readonly place?: ReplicaPlace | undefined;
}

/** The part of requests per minute that falls to a replica. */
type CapOf = (subject: Subject, requestsPerMinute: number) => number;

/** A check by a replica's part of the limits that must not be exceeded at any instant. */
export function checkByShare(check: Check, place: ReplicaPlace, capOf: CapOf): Check & Shared {
  const [limits, groupLimits] = subjectsOf(check).map((subject) => limitsByShare(subject, place, capOf));
  return { ...check, place, limits, ...(check.group && { group: { ...check.group, limits: groupLimits } }) };
}

/** The decision by a share, as callers see it: with the whole limits. */
export function asWhole({ limits, group }: Check, decision: Decision): Decision {
  showWhole(decision.status, limits);
  showWhole(decision.groupStatus, group?.limits);
  return decision;
}

function limitsByShare(subject: Subject, place: ReplicaPlace, capOf: CapOf): KeyLimits | undefined {
  const { limits } = subject;
  if (limits === undefined) return undefined;
  const { requestsPerMinute, concurrentRequests } = limits;
  return {
    ...limits,
    requestsPerMinute: requestsPerMinute === undefined ? undefined : capOf(subject, requestsPerMinute),
    concurrentRequests: concurrentRequests === undefined ? undefined : shareOf(concurrentRequests, place),
  };
}

function showWhole(status: LimitStatus | undefined, limits: KeyLimits = {}): void {
  if (status === undefined) return;
  status.degraded = true;
  const { requestsPerMinute, concurrentRequests } = limits;
  if (status.requests !== undefined && requestsPerMinute !== undefined) status.requests.limit = requestsPerMinute;
  if (status.concurrency !== undefined && concurrentRequests !== undefined)
    status.concurrency.limit = concurrentRequests;
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

/** The replicas of groups by when they were last heard from, for a store in one process. */
export class ReplicaGroups {
  readonly #groups = new LRUCache<string, Map<string, number>>({ max: 1_000 });

  /** Notes that a replica is alive, and returns its place. */
  note(group: string, replicaId: string, nowMs: number, lastAnsweredAtMs?: number): ReplicaPlace {
    const heard = this.#groups.get(group) ?? new Map<string, number>();
    const isNew = !heard.has(replicaId);
    this.#groups.set(group, heard.set(replicaId, heardOfAtMs(nowMs, lastAnsweredAtMs)));
    // Includes replicas that were heard from before the clock was set back.
    for (const [id, atMs] of heard) if (Math.abs(nowMs - atMs) >= replicaSilenceMs) heard.delete(id);
    const position = [...heard.keys()].filter((id) => id < replicaId).length;
    const longestSilenceMs = Math.max(0, nowMs - Math.min(...heard.values()));
    return { replicas: heard.size, position, longestSilenceMs, answeredAtMs: nowMs, isNew };
  }
}

/** How often a replica reports that it is alive. */
export const replicaHeartbeatMs = 2_000;

/** A replica that is silent for this long is considered gone. */
export const replicaSilenceMs = 10_000;

/**
 * When a replica was last in touch. A replica that reports now counts even if its last contact was
 * long ago.
 */
function heardOfAtMs(nowMs: number, lastAnsweredAtMs = nowMs): number {
  return Math.max(nowMs - replicaSilenceMs + 1, Math.min(nowMs, lastAnsweredAtMs));
}
