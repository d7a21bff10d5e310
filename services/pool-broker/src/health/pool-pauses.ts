import type { FailureResult } from '../accounts/attempt.ts';
import type { Cooldown } from './account-health.ts';
import { type AccountView, type Availability, availabilityOf } from './eligibility.ts';
import type { PoolHealth } from './pool-health.ts';
import { isInService } from './quota-forecasts.ts';

/** A time during which no account of a pool takes requests although some are in service. */
export interface PoolPause {
  readonly pool: string;
  /** Empty: all models. */
  readonly model: string;
  readonly reason: FailureResult;
  /** When the first account is back. Undefined: a request is probing now. */
  readonly untilMs: number | undefined;
  /** True: the pool pauses as a whole. False: each account cools down by itself. */
  readonly isWholePool: boolean;
}

/**
 * The pauses of these pools: for each, first those of models that its provider fails, then the one
 * caused by its accounts.
 */
export function pausesOf(
  views: readonly AccountView[],
  pools: ReadonlyMap<string, PoolHealth>,
  nowMs: number,
): readonly PoolPause[] {
  return [...pools].flatMap(([pool, { incidents }]) => {
    const ofPool = incidents.flatMap(({ pause }) => {
      const kept = pause && keptBy(availabilityOf({ cooldowns: [pause] }, pause, nowMs));
      return kept === undefined ? [] : [{ pool, model: pause?.model ?? '', ...kept, isWholePool: true }];
    });
    if (ofPool.some(({ model }) => model === '')) return ofPool;
    const ofAccounts = firstBack(views.filter(({ account }) => account.pool === pool).filter(isInService), nowMs);
    return ofAccounts === undefined ? ofPool : [...ofPool, { pool, model: '', ...ofAccounts, isWholePool: false }];
  });
}

interface Kept {
  readonly reason: Cooldown['reason'];
  readonly untilMs: number | undefined;
}

/** Undefined when a request would be let through. */
function keptBy(availability: Availability): Kept | undefined {
  if (availability.kind === 'available' || availability.kind === 'probe_due') return undefined;
  const { cooldown, kind } = availability;
  return { reason: cooldown.reason, untilMs: kind === 'cooling' ? cooldown.untilMs : undefined };
}

/** If no account takes requests, the reason of the account that recovers first. */
function firstBack(serving: readonly AccountView[], nowMs: number): Kept | undefined {
  const kept = serving.map(({ health }) => keptBy(availabilityOf(health, { model: '' }, nowMs)));
  const known = kept.filter((each) => each !== undefined);
  if (known.length === 0 || known.length < serving.length) return undefined;
  return known.reduce((first, other) => ((other.untilMs ?? 0) < (first.untilMs ?? 0) ? other : first));
}
