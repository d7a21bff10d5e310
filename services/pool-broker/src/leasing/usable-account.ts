import type { Account } from '../accounts/account.ts';
import type { Broker } from '../broker.ts';
import { availabilityOf } from '../health/availability.ts';
import type { AccountView } from '../selection/fitness.ts';
import { readAccounts } from './read-candidates.ts';

/**
 * An account of a pool for what costs its provider next to nothing, such as reading the model list. One that is limited will
 * do when there is no better one: lists are not what the limits are on.
 */
export async function usableAccount(broker: Broker, pool: string): Promise<Account | undefined> {
  const views = await readAccounts(broker, broker.roster.ofPool(pool));
  const nowMs = broker.clock.nowMs();
  const usable = views.filter(({ account }) => account.state !== 'disabled');
  return usable.sort((one, other) => reluctance(one, nowMs) - reluctance(other, nowMs))[0]?.account;
}

function reluctance({ account, health }: AccountView, nowMs: number): number {
  const availability = availabilityOf(health, '', nowMs);
  const draining = account.state === 'draining' ? 1 : 0;
  if (availability.kind === 'available') return draining;
  if (availability.kind === 'probe_due') return 2 + draining;
  return (availability.limitOnly ? 4 : 6) + draining;
}
