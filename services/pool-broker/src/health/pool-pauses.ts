import type { PoolPause } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type AccountView, type Availability, availabilityOf } from './eligibility.ts';
import type { PoolHealth } from './pool-health.ts';
import { isInService } from './quota-forecasts.ts';

/**
 * The pauses of these pools: for each, first those of models that its provider fails, then the one
 * caused by its accounts.
 */
export function pausesOf(views: readonly AccountView[], pools: ReadonlyMap<string, PoolHealth>, nowMs: number) {
  return [...pools].flatMap(([pool, { incidents }]) => {
    const ofPool = incidents.flatMap(({ pause }) => {
      const kept = pause && keptBy(availabilityOf({ cooldowns: [pause] }, pause, nowMs));
      return kept === undefined ? [] : [{ pool, model: pause?.model ?? '', ...kept, wholePool: true }];
    });
    if (ofPool.some(({ model }) => model === '')) return ofPool;
    const ofAccounts = firstBack(views.filter(({ account }) => account.pool === pool).filter(isInService), nowMs);
    return ofAccounts === undefined ? ofPool : [...ofPool, { pool, model: '', ...ofAccounts, wholePool: false }];
  });
}

interface Kept extends Pick<PoolPause, 'reason'> {
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
