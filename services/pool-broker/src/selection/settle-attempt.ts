import { type Account, servesModel } from '../accounts/account.ts';
import { type Attempt, callerOfLease, isFailure, isFaultOfPool } from '../accounts/attempt.ts';
import type { AccountProblem } from '../health/account-health.ts';
import { applyOutcome, type EndedAttempt } from '../health/apply-outcome.ts';
import type { HealthRules } from '../health/cooldown.ts';
import { applyToPool, incidentSinceMs } from '../health/pool-health.ts';
import type { Broker } from './broker.ts';
import { affinityIdOf } from './read-candidates.ts';

/**
 * Records how an attempt ended: frees its lease, changes its account's and its pool's health, binds its session (and what later
 * requests will refer to its answer by) after a success and unbinds the session after a failure. Doing it again for the same
 * lease changes nothing.
 */
export async function settleAttempt(
  broker: Broker,
  attempt: Attempt,
  affinityKey: string,
  answerKeys: readonly string[] = [],
): Promise<void> {
  const { store, configuration, metrics, clock } = broker;
  const { leaseId, accountId, pool, model, outcome } = attempt;
  // An account that is no longer configured has nothing to keep.
  const account = configuration.accounts.byId(accountId);
  if (account === undefined) return;
  const settlement = await store.settleLease(accountId, { pool, model, caller: callerOfLease(leaseId), leaseId });
  if (settlement === undefined) return;
  metrics.attempts.inc({ pool, result: outcome.result });
  const { leasedAtMs, health, poolHealth } = settlement;
  const { credentialId } = account;
  const ended = { leaseId, model, outcome, leasedAtMs, credentialId, nowMs: clock.nowMs() };
  const counted = outcome.result === 'unauthorized' ? await ofPresentSecret(broker, account, ended) : ended;
  // Most attempts show nothing new. Only a fault makes an incident of a pool, and where there is none nothing can end it.
  const changesHealth = applyOutcome(health, counted, rulesOf(broker)) !== health;
  const concernsPool = poolHealth.incidents.length > 0 || isFaultOfPool(outcome.result);
  const bindings = [affinityKey, ...(outcome.result === 'succeeded' ? answerKeys : [])].filter((key) => key !== '');
  await Promise.all([
    changesHealth && changeAccountHealth(broker, attempt, counted),
    concernsPool && changePoolHealth(broker, attempt, ended),
    ...bindings.map((key) => changeBinding(broker, attempt, key)),
  ]);
}

function rulesOf({ configuration: { settings }, random }: Broker): HealthRules {
  return { settings, random };
}

/** A refusal as it counts: it says nothing of an account that has another secret by now than its request may have been sent with. */
async function ofPresentSecret(broker: Broker, account: Account, ended: EndedAttempt): Promise<EndedAttempt> {
  const { configuration, credentials } = broker;
  const { outcome, nowMs } = ended;
  // An unknown lease has expired.
  const { leasedAtMs = nowMs - configuration.settings.leaseTtlMs } = ended;
  // If that can't be found out, the refusal counts: it is the present secret most of the time.
  const isOutdated =
    configuration.credentialSinceMs(account.id) > leasedAtMs ||
    (await credentials.isNewerThan(account, leasedAtMs).catch(() => false));
  return isOutdated ? { ...ended, outcome: { ...outcome, result: 'cancelled', problem: undefined } } : ended;
}

async function changeAccountHealth(broker: Broker, { accountId, pool }: Attempt, ended: EndedAttempt): Promise<void> {
  let problem: AccountProblem | undefined;
  const changed = await broker.store.changeHealth(accountId, (health) => {
    const next = applyOutcome(health, ended, rulesOf(broker));
    problem = next.problem === health.problem ? undefined : next.problem;
    return next;
  });
  if (changed && problem !== undefined) broker.metrics.accountDisabled(pool, problem.kind);
}

async function changePoolHealth(broker: Broker, { accountId, pool }: Attempt, ended: EndedAttempt): Promise<void> {
  const accounts = broker.configuration.accounts
    .ofPool(pool)
    .filter((account) => account.state === 'active' && servesModel(account, ended.model)).length;
  const oldestUnderWayMs = await oldestSinceIncident(broker, pool, ended);
  const attempt = { ...ended, accountId, accounts, oldestUnderWayMs };
  await broker.store.changePoolHealth(pool, (health) => applyToPool(health, attempt, rulesOf(broker)));
}

/** When the oldest request began that still goes on since the incident began that an attempt met. Asked for faults only. */
async function oldestSinceIncident({ store, ...broker }: Broker, pool: string, ended: EndedAttempt) {
  const { model, nowMs } = ended;
  const cause = ended.outcome.result;
  if (!isFaultOfPool(cause)) return undefined;
  const sinceMs = incidentSinceMs(await store.readPool(pool), { cause, model, nowMs }, rulesOf({ store, ...broker }));
  return store.oldestRequest({ pool, model: cause === 'overloaded' ? model : '', sinceMs });
}

async function changeBinding({ store, configuration }: Broker, { accountId, pool, outcome }: Attempt, key: string) {
  const affinityId = affinityIdOf(pool, key);
  if (outcome.result === 'succeeded') await store.bind(affinityId, accountId, configuration.settings.affinityTtlMs);
  else if (isFailure(outcome.result)) await store.unbind(affinityId, accountId);
}
