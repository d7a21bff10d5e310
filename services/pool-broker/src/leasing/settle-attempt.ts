import { type Attempt, isFailure } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import { applyOutcome } from '../health/apply-outcome.ts';
import { affinityIdOf } from './affinity-id.ts';

/**
 * Takes note of how an attempt ended: frees its lease, changes its account's health, binds its session (and what later
 * requests will refer to its answer by) after a success and unbinds the session after a failure. Doing it again for the same lease changes nothing.
 */
export async function settleAttempt(
  broker: Broker,
  attempt: Attempt,
  affinityKey: string,
  answerKeys: readonly string[] = [],
): Promise<void> {
  const { leaseId, accountId, pool, outcome } = attempt;
  // An account that is no longer configured has nothing to keep.
  if (broker.roster.byId(accountId) === undefined) return;
  const settlement = await broker.store.settleLease(accountId, leaseId);
  if (settlement.kind === 'settled_before') return;
  broker.events.attemptEnded(pool, outcome.result);
  await Promise.all([
    changeHealth(broker, attempt, settlement.leasedAtMs),
    affinityKey === '' ? undefined : changeBinding(broker, attempt, affinityKey),
    ...(outcome.result === 'succeeded' ? answerKeys.map((key) => changeBinding(broker, attempt, key)) : []),
  ]);
}

async function changeHealth(broker: Broker, attempt: Attempt, leasedAtMs: number | undefined): Promise<void> {
  const { leaseId, accountId, model, outcome } = attempt;
  const ended = { leaseId, model, outcome, leasedAtMs, nowMs: broker.clock.nowMs() };
  await broker.store.changeHealth(accountId, (health) => applyOutcome(health, ended, broker));
}

async function changeBinding(broker: Broker, attempt: Attempt, affinityKey: string): Promise<void> {
  const { accountId, pool, outcome } = attempt;
  const affinityId = affinityIdOf(pool, affinityKey);
  if (outcome.result === 'succeeded') await broker.store.bind(affinityId, accountId, broker.settings.affinityTtlMs);
  else if (isFailure(outcome.result)) await broker.store.unbind(affinityId, accountId);
}
