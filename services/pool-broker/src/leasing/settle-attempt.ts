import { type Account, servesModel } from '../accounts/account.ts';
import { type Attempt, isFailure, isFaultOfPool } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import type { AccountProblem } from '../health/account-health.ts';
import { applyOutcome, type EndedAttempt } from '../health/apply-outcome.ts';
import { applyToPool, troubleSinceMs } from '../health/apply-to-pool.ts';
import { type PoolHealth, untroubled } from '../health/pool-health.ts';
import { affinityIdOf } from './affinity-id.ts';
import { callerOfLease } from './lease-id.ts';

/**
 * Takes note of how an attempt ended: frees its lease, changes its account's and its pool's health, binds its session (and
 * what later requests will refer to its answer by) after a success and unbinds the session after a failure. Doing it again
 * for the same lease changes nothing.
 */
export async function settleAttempt(
  broker: Broker,
  attempt: Attempt,
  affinityKey: string,
  answerKeys: readonly string[] = [],
): Promise<void> {
  const { leaseId, accountId, pool, model, outcome } = attempt;
  // An account that is no longer configured has nothing to keep.
  const account = broker.roster.byId(accountId);
  if (account === undefined) return;
  const request = { pool, model, caller: callerOfLease(leaseId), leaseId };
  const settling = broker.store.settleLease(accountId, request);
  const settlement = settling instanceof Promise ? await settling : settling;
  if (settlement.kind === 'settled_before') return;
  broker.events.attemptEnded(pool, outcome.result);
  const { credentialId } = account;
  const nowMs = broker.clock.nowMs();
  const ended = { leaseId, model, outcome, leasedAtMs: settlement.leasedAtMs, credentialId, nowMs };
  const counted = outcome.result === 'unauthorized' ? await ofPresentSecret(broker, account, ended) : ended;
  // Most attempts say nothing new: then what was read when the lease was settled is all that has to be asked of the store.
  const changes: Promise<void>[] = [];
  if (applyOutcome(settlement.health, counted, broker) !== settlement.health) {
    changes.push(changeAccountHealth(broker, attempt, counted));
  }
  if (concernsPool(settlement.poolHealth, ended)) changes.push(changePoolHealth(broker, attempt, ended));
  if (affinityKey !== '') changes.push(changeBinding(broker, attempt, affinityKey));
  if (outcome.result === 'succeeded') {
    for (const key of answerKeys) changes.push(changeBinding(broker, attempt, key));
  }
  if (changes.length > 0) await Promise.all(changes);
}

/** A refusal as it counts: it says nothing of an account that has another secret by now than its request may have been sent with. */
async function ofPresentSecret(broker: Broker, account: Account, ended: EndedAttempt): Promise<EndedAttempt> {
  const { outcome, nowMs } = ended;
  // A lease that nobody remembers has run out.
  const { leasedAtMs = nowMs - broker.settings.leaseTtlMs } = ended;
  // When nobody can tell, the refusal counts: it is the present one, most of the time.
  const isOutdated =
    broker.credentialSinceMs(account.id) > leasedAtMs ||
    (await broker.credentials.isNewerThan(account, leasedAtMs).catch(() => false));
  return isOutdated ? { ...ended, outcome: { ...outcome, result: 'cancelled', problem: undefined } } : ended;
}

async function changeAccountHealth(broker: Broker, { accountId, pool }: Attempt, ended: EndedAttempt): Promise<void> {
  let problem: AccountProblem | undefined;
  const changed = await broker.store.changeHealth(accountId, (health) => {
    const next = applyOutcome(health, ended, broker);
    problem = next.problem === health.problem ? undefined : next.problem;
    return next;
  });
  if (changed && problem !== undefined) broker.events.accountDisabled(pool, problem.kind);
}

/** Only a fault makes trouble, and where there is none nothing can end it. */
function concernsPool({ troubles }: PoolHealth, { outcome }: EndedAttempt): boolean {
  return troubles.length > 0 || isFaultOfPool(outcome.result);
}

async function changePoolHealth(broker: Broker, { accountId, pool }: Attempt, ended: EndedAttempt): Promise<void> {
  const accounts = broker.roster
    .ofPool(pool)
    .filter((account) => account.state === 'active' && servesModel(account, ended.model)).length;
  const oldestUnderWayMs = await oldestSinceTrouble(broker, pool, ended);
  const attempt = { ...ended, accountId, accounts, oldestUnderWayMs };
  await broker.store.changePoolHealth(pool, (health) => applyToPool(health, attempt, broker));
}

/** When the oldest request was sent that still goes on since the trouble began that an attempt met. Asked for faults only. */
async function oldestSinceTrouble(
  broker: Broker,
  pool: string,
  { outcome: { result: cause }, model, nowMs }: EndedAttempt,
): Promise<number | undefined> {
  if (!isFaultOfPool(cause)) return undefined;
  const health = (await broker.store.readPools([pool])).get(pool) ?? untroubled;
  const sinceMs = troubleSinceMs(health, { cause, model, nowMs }, broker);
  return broker.store.oldestRequest({ pool, model: cause === 'overloaded' ? model : '', sinceMs });
}

async function changeBinding(broker: Broker, attempt: Attempt, affinityKey: string): Promise<void> {
  const { accountId, pool, outcome } = attempt;
  const affinityId = affinityIdOf(pool, affinityKey);
  if (outcome.result === 'succeeded') await broker.store.bind(affinityId, accountId, broker.settings.affinityTtlMs);
  else if (isFailure(outcome.result)) await broker.store.unbind(affinityId, accountId);
}
