import { type Account, servesModel } from '../accounts/account.ts';
import { type Attempt, callerOfLease, isFailure, isFaultOfPool } from '../accounts/attempt.ts';
import type { AccountProblem } from '../health/account-health.ts';
import { applyOutcome, type EndedAttempt } from '../health/apply-outcome.ts';
import { applyToPool, incidentSinceMs } from '../health/pool-health.ts';
import type { Broker } from './broker.ts';
import { affinityIdOf } from './read-candidates.ts';

/** Records how an attempt ended. `answerKeys`: what later requests refer to its answer by. Doing it again changes nothing. */
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
  const settled = await store.settleLease(accountId, { pool, model, caller: callerOfLease(leaseId), leaseId });
  if (settled === undefined) return;
  metrics.attempts.inc({ pool, result: outcome.result });
  const { leasedAtMs, health, poolHealth } = settled;
  const ended = { ...attempt, leasedAtMs, credentialId: account.credentialId, nowMs: clock.nowMs() };
  const isOutdated = outcome.result === 'unauthorized' && (await hasNewerSecret(broker, account, ended));
  const counted: Ended = isOutdated
    ? { ...ended, outcome: { ...outcome, result: 'cancelled', problem: undefined } }
    : ended;
  // Most attempts show nothing new. Only a fault makes an incident of a pool, and where there is none nothing can end it.
  const changesHealth = applyOutcome(health, counted, rulesOf(broker)) !== health;
  const concernsPool = poolHealth.incidents.length > 0 || isFaultOfPool(outcome.result);
  const bindings = [affinityKey, ...(outcome.result === 'succeeded' ? answerKeys : [])].filter((key) => key !== '');
  await Promise.all([
    changesHealth && changeAccountHealth(broker, counted),
    concernsPool && changePoolHealth(broker, ended),
    ...bindings.map((key) => changeBinding(broker, attempt, key)),
  ]);
}

type Ended = Attempt & EndedAttempt;

function rulesOf({ configuration: { settings }, random }: Broker) {
  return { settings, random };
}

/** A refusal says nothing of an account that has another secret by now than its request may have been sent with. */
async function hasNewerSecret(
  { configuration, credentials }: Broker,
  account: Account,
  ended: Ended,
): Promise<boolean> {
  // An unknown lease has expired.
  const { leasedAtMs = ended.nowMs - configuration.settings.leaseTtlMs } = ended;
  if (configuration.credentialSinceMs(account.id) > leasedAtMs) return true;
  // If that can't be found out, the refusal counts: it is the present secret most of the time.
  return credentials.isNewerThan(account, leasedAtMs).catch(() => false);
}

async function changeAccountHealth(broker: Broker, ended: Ended): Promise<void> {
  let problem: AccountProblem | undefined;
  const changed = await broker.store.changeHealth(ended.accountId, (health) => {
    const next = applyOutcome(health, ended, rulesOf(broker));
    problem = next.problem === health.problem ? undefined : next.problem;
    return next;
  });
  if (changed && problem !== undefined) broker.metrics.accountDisabled(ended.pool, problem.kind);
}

async function changePoolHealth(broker: Broker, ended: Ended): Promise<void> {
  const { pool, model } = ended;
  const ofPool = broker.configuration.accounts.ofPool(pool);
  const accounts = ofPool.filter((account) => account.state === 'active' && servesModel(account, model)).length;
  const attempt = { ...ended, accounts, oldestUnderWayMs: await oldestSinceIncident(broker, ended) };
  await broker.store.changePoolHealth(pool, (health) => applyToPool(health, attempt, rulesOf(broker)));
}

/** When the oldest request began that still goes on since the incident began that an attempt met. Asked for faults only. */
async function oldestSinceIncident(broker: Broker, { pool, model, nowMs, outcome }: Ended) {
  const { result: cause } = outcome;
  if (!isFaultOfPool(cause)) return undefined;
  const health = await broker.store.readPool(pool);
  const sinceMs = incidentSinceMs(health, { cause, model, nowMs }, rulesOf(broker));
  return broker.store.oldestRequest({ pool, model: cause === 'overloaded' ? model : '', sinceMs });
}

async function changeBinding({ store, configuration }: Broker, { accountId, pool, outcome }: Attempt, key: string) {
  const affinityId = affinityIdOf(pool, key);
  if (outcome.result === 'succeeded') await store.bind(affinityId, accountId, configuration.settings.affinityTtlMs);
  else if (isFailure(outcome.result)) await store.unbind(affinityId, accountId);
}
