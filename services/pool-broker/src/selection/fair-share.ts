import type { PoolSettings } from '@gateway/config';
import { servesModel } from '../accounts/account.ts';
import { availabilityOf, headroomOf } from '../health/availability.ts';
import type { AccountView } from './fitness.ts';

/** What a caller has of a pool, and how many it shares the pool with. */
export interface CallerShare {
  /** Requests of this caller under way. */
  readonly inFlight: number;
  /** Callers that asked the pool for something of late, this one among them. */
  readonly callers: number;
}

/**
 * True when a caller has all it may have of a pool that runs short: of places, or of the quota of its accounts. As long as
 * there is plenty nobody is kept back, and whoever is alone with a pool may use it up.
 */
export function hasItsShare(
  { inFlight, callers }: CallerShare,
  views: readonly AccountView[],
  model: string,
  moment: Moment,
): boolean {
  if (callers < 2 || inFlight === 0) return false;
  const partOf = (whole: number) => Math.max(1, Math.floor(whole / callers));
  const supply = supplyOf(views, model, moment.nowMs);
  if (isShortOfPlaces(supply, moment) && inFlight >= partOf(supply.capacity)) return true;
  return isShortOfQuota(supply, moment) && inFlight >= partOf(supply.busy);
}

/** True when a pool runs short, so that it matters what its callers have of it. */
export function runsShort(views: readonly AccountView[], model: string, moment: Moment): boolean {
  const supply = supplyOf(views, model, moment.nowMs);
  return isShortOfPlaces(supply, moment) || isShortOfQuota(supply, moment);
}

interface Moment {
  readonly nowMs: number;
  readonly rules: PoolSettings;
}

/** An account without a cap always has places. */
function isShortOfPlaces({ capacity, free }: Supply, { rules }: Moment): boolean {
  return Number.isFinite(capacity) && free <= Math.floor(capacity * rules.callerReserve);
}

function isShortOfQuota({ left, serving }: Supply, { rules }: Moment): boolean {
  return left / serving <= rules.callerReserve;
}

/** What a pool has for a model. */
interface Supply {
  /** Accounts that may serve it. */
  readonly serving: number;
  /** Their requests under way. */
  readonly busy: number;
  /** Their quotas that can be used now, each 0 to 1. */
  readonly left: number;
  /** The places of those that can take requests now, and how many of these are free. */
  readonly capacity: number;
  readonly free: number;
}

function supplyOf(views: readonly AccountView[], model: string, nowMs: number): Supply {
  const supply = { serving: 0, busy: 0, left: 0, capacity: 0, free: 0 };
  for (const view of views) {
    const { account, health, inFlight } = view;
    if (account.state !== 'active' || !servesModel(account, model)) continue;
    supply.serving += 1;
    supply.busy += inFlight;
    supply.left += quotaLeft(view, model, nowMs);
    if (availabilityOf(health, model, nowMs).kind !== 'available') continue;
    supply.capacity += account.maxConcurrency;
    supply.free += Math.max(0, account.maxConcurrency - inFlight);
  }
  return supply;
}

/** The share of an account's quota that can be used now: nothing of one that is limited. */
function quotaLeft({ health }: AccountView, model: string, nowMs: number): number {
  const availability = availabilityOf(health, model, nowMs);
  return availability.kind === 'cooling' && availability.limitOnly ? 0 : headroomOf(health, model, nowMs);
}
