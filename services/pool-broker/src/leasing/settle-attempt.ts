import { type Account, servesModel } from '../accounts/account.ts';
import { type Attempt, isFailure, isFaultOfPool } from '../accounts/attempt.ts';
import type { Broker } from '../broker.ts';
import type { AccountProblem } from '../health/account-health.ts';
import { applyOutcome, type EndedAttempt } from '../health/apply-outcome.ts';
import { applyToPool, troubleSinceMs } from '../health/apply-to-pool.ts';
import type { PoolHealth } from '../health/pool-health.ts';
import { type Awaitable, allThere, whenThere } from '../store/awaitable.ts';
import { callerOfLease } from '../store/lease-id.ts';
import type { LeaseSettlement } from '../store/pool-store.ts';
import { affinityIdOf } from './affinity-id.ts';

/**
 * Takes note of how an attempt ended: frees its lease, changes its account's and its pool's health, binds its session (and
 * what later requests will refer to its answer by) after a success and unbinds the session after a failure. Doing it again
 * for the same lease changes nothing.
 */
export function settleAttempt(
  broker: Broker,
  attempt: Attempt,
  affinityKey: string,
  answerKeys: readonly string[] = none,
): Awaitable<void> {
  const { leaseId, accountId, pool, model } = attempt;
  // An account that is no longer configured has nothing to keep.
  const account = broker.roster.byId(accountId);
  if (account === undefined) return;
  const request = { pool, model, caller: callerOfLease(leaseId), leaseId };
  return whenThere(broker.store.settleLease(accountId, request), (settlement) => {
    if (settlement.kind === 'settled_before') return;
    return noteEnd(broker, { attempt, account, settlement, affinityKey, answerKeys });
  });
}

/** An attempt that ended just now, with what is kept of it. */
interface End {
  readonly attempt: Attempt;
  readonly account: Account;
  readonly settlement: Settled;
  readonly affinityKey: string;
  readonly answerKeys: readonly string[];
}

type Settled = Extract<LeaseSettlement, { kind: 'settled' }>;

function noteEnd(broker: Broker, { attempt, account, settlement, affinityKey, answerKeys }: End): Awaitable<void> {
  const { leaseId, pool, model, outcome } = attempt;
  broker.events.attemptEnded(pool, outcome.result);
  const { leasedAtMs, poolHealth } = settlement;
  const ended = {
    leaseId,
    model,
    outcome,
    leasedAtMs,
    credentialId: account.credentialId,
    nowMs: broker.clock.nowMs(),
  };
  const counting = outcome.result === 'unauthorized' ? ofPresentSecret(broker, account, ended) : ended;
  return whenThere(counting, (counted) => {
    // Most attempts say nothing new: then what was read when the lease was settled is all that has to be asked of the store.
    const changes: Awaitable<void>[] = [];
    if (applyOutcome(settlement.health, counted, broker) !== settlement.health) {
      changes.push(changeAccountHealth(broker, attempt, counted));
    }
    if (concernsPool(poolHealth, ended)) changes.push(changePoolHealth(broker, attempt, ended));
    if (affinityKey !== '') changes.push(changeBinding(broker, attempt, affinityKey));
    if (outcome.result === 'succeeded') {
      for (const key of answerKeys) changes.push(changeBinding(broker, attempt, key));
    }
    return changes.length === 0 ? undefined : whenThere(allThere(changes), nothing);
  });
}

const none: readonly string[] = [];

function nothing(): void {}

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
  const health = await broker.store.readPool(pool);
  const sinceMs = troubleSinceMs(health, { cause, model, nowMs }, broker);
  return broker.store.oldestRequest({ pool, model: cause === 'overloaded' ? model : '', sinceMs });
}

function changeBinding(broker: Broker, attempt: Attempt, affinityKey: string): Awaitable<void> {
  const { accountId, pool, outcome } = attempt;
  const affinityId = affinityIdOf(pool, affinityKey);
  if (outcome.result === 'succeeded') return broker.store.bind(affinityId, accountId, broker.settings.affinityTtlMs);
  if (isFailure(outcome.result)) return broker.store.unbind(affinityId, accountId);
}
