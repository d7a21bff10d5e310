import { type ReplicaPlace, shareOf } from '@gateway/lifecycle/replica-share';
import type { LimitStatus } from '../windows/limit-status.ts';
import type { Limits } from '../windows/limits.ts';

/** The part of the limits that one of several processes may admit by itself. */
export function shareOfLimits(limits: Limits, place: ReplicaPlace): Limits {
  const { requestsPerMinute } = limits;
  return requestsPerMinute === undefined ? limits : { ...limits, requestsPerMinute: shareOf(requestsPerMinute, place) };
}

/** What callers are told of a local decision: the limit is still theirs, not this process' part. */
export function asDegraded(status: LimitStatus, { requestsPerMinute }: Limits): LimitStatus {
  const { requests } = status;
  if (requests === undefined || requestsPerMinute === undefined) return { ...status, degraded: true };
  return { ...status, requests: { ...requests, limit: requestsPerMinute }, degraded: true };
}
