import type { LimitStatus } from '../windows/limit-status.ts';
import type { Limits } from '../windows/limits.ts';

/** The part of the limits that one of several processes may admit by itself. */
export function shareOf(limits: Limits, replicas: number): Limits {
  const { requestsPerMinute } = limits;
  if (requestsPerMinute === undefined || requestsPerMinute === 0) return limits;
  return { ...limits, requestsPerMinute: Math.max(1, Math.floor(requestsPerMinute / replicas)) };
}

/** What callers are told of a local decision: the limit is still theirs, not this process' part. */
export function asDegraded(status: LimitStatus, { requestsPerMinute }: Limits): LimitStatus {
  const { requests } = status;
  if (requests === undefined || requestsPerMinute === undefined) return { ...status, degraded: true };
  return { ...status, requests: { ...requests, limit: requestsPerMinute }, degraded: true };
}
