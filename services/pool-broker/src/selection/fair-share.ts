import { servesModel } from '../accounts/account.ts';
import { availabilityOf, headroomOf } from '../health/eligibility.ts';
import type { CallerShare } from '../store/pool-store.ts';
import type { CandidateView, SelectionRequest } from './select-account.ts';

/**
 * True when a caller that shares a pool has all it may have of it, because the pool runs short: of places, or of the quota of its
 * accounts. As long as there is plenty no caller is kept back. Undecided when a sample of the accounts does not show plenty.
 */
export function shareIsUsedUp(
  callerShare: CallerShare,
  { accounts, candidate: { model }, sampled }: CandidateView,
  { nowMs, rules: { callerReserveShare: callerReserve } }: SelectionRequest,
): boolean | 'undecided' {
  const { capacity, free, quota, inFlight, serving } = supplyOf(accounts, model, nowMs);
  if (sampled !== undefined) {
    const hasPlaces = capacity === Number.POSITIVE_INFINITY || free > 2 * callerReserve * capacity;
    return hasPlaces && (quota / serving) * sampled.usableShare > 2 * callerReserve ? false : 'undecided';
  }
  const hasItsPartOf = (whole: number) => callerShare.inFlight >= Math.max(1, Math.floor(whole / callerShare.callers));
  // An account without a cap always has places.
  const isShortOfPlaces = Number.isFinite(capacity) && free <= Math.floor(capacity * callerReserve);
  return (isShortOfPlaces && hasItsPartOf(capacity)) || (quota / serving <= callerReserve && hasItsPartOf(inFlight));
}

/** What accounts have for a model. */
function supplyOf(accounts: CandidateView['accounts'], model: string, nowMs: number) {
  const serving = accounts.filter(({ account }) => account.state === 'active' && servesModel(account, model));
  const supply = {
    /** Accounts that may serve it, and their requests in flight. */
    serving: serving.length,
    inFlight: 0,
    /** The shares of their quotas that can be used now, each 0 to 1: nothing of a limited account. */
    quota: 0,
    /** The places of those that can take requests now, and how many of these are free. */
    capacity: 0,
    free: 0,
  };
  for (const { account, health, inFlight } of serving) {
    const availability = availabilityOf(health, model, nowMs);
    const isLimited = availability.kind === 'cooling' && availability.limitOnly;
    supply.inFlight += inFlight;
    supply.quota += isLimited ? 0 : headroomOf(health, model, nowMs);
    if (availability.kind !== 'available') continue;
    supply.capacity += account.maxConcurrency;
    supply.free += Math.max(0, account.maxConcurrency - inFlight);
  }
  return supply;
}
