import type { PoolSettings } from '@gateway/config';
import { servesModel } from '../accounts/account.ts';
import { availabilityOf } from '../health/availability.ts';
import { headroomOf } from '../health/quota-windows.ts';
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
  { nowMs, rules }: { readonly nowMs: number; readonly rules: PoolSettings },
): boolean {
  if (callers < 2 || inFlight === 0) return false;
  const serving = views.filter(({ account }) => account.state === 'active' && servesModel(account, model));
  const partOf = (whole: number) => Math.max(1, Math.floor(whole / callers));
  const usable = serving.filter(({ health }) => availabilityOf(health, model, nowMs).kind === 'available');
  const capacity = sum(usable, ({ account }) => account.maxConcurrency);
  const free = sum(usable, ({ account, inFlight: busy }) => Math.max(0, account.maxConcurrency - busy));
  if (free <= Math.floor(capacity * rules.callerReserve) && inFlight >= partOf(capacity)) return true;
  const left = sum(serving, (view) => quotaLeft(view, model, nowMs)) / serving.length;
  return left <= rules.callerReserve && inFlight >= partOf(sum(serving, ({ inFlight: busy }) => busy));
}

/** The share of an account's quota that can be used now: nothing of one that is limited. */
function quotaLeft({ health }: AccountView, model: string, nowMs: number): number {
  const availability = availabilityOf(health, model, nowMs);
  return availability.kind === 'cooling' && availability.limitOnly ? 0 : headroomOf(health, model, nowMs);
}

function sum<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((total, item) => total + amountOf(item), 0);
}
