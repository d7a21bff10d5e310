import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Account, servesModel } from '../accounts/account.ts';
import { type Attempt, callerOfLease, concernsRequest, isFailure, isFaultOfPool } from '../accounts/attempt.ts';
import { type AccountHealth, causeOf, forgottenAtMs, type Problem, withCredential } from '../health/account-health.ts';
import { applyReport, type ReportedAttempt } from '../health/apply-report.ts';
import { applyToPool, incidentSinceMs, type PoolHealth } from '../health/pool-health.ts';
import type { Broker } from './broker.ts';
import { affinityIdOf } from './read-candidates.ts';

/**
 * Records the result of an attempt. `answerKeys`: keys by which later requests refer to its answer.
 * Repeating it changes nothing.
 */
export async function settleAttempt(
  broker: Broker,
  attempt: Attempt,
  affinityKey: string,
  answerKeys: readonly string[] = [],
): Promise<void> {
  const { store, configuration, metrics } = broker;
  const { leaseId, accountId, pool, model, report } = attempt;
  // An account that is no longer configured has no state to update.
  const account = configuration.accounts.byId(accountId);
  if (account === undefined) return;
  const settled = await store.settleLease(accountId, { pool, model, caller: callerOfLease(leaseId), leaseId });
  if (settled === undefined) return;
  metrics.attempts.inc({ pool, result: AttemptResult[report.result].toLowerCase() });
  const { leasedAtMs, health, poolHealth } = settled;
  const ended = { ...attempt, leasedAtMs, credentialId: account.credentialId, nowMs: store.nowMs() };
  const isRefused = report.result === AttemptResult.UNAUTHORIZED || report.result === AttemptResult.REFUSED;
  const isOutdated = isRefused && (await hasNewerSecret(broker, account, ended));
  const counted: Ended = isOutdated
    ? { ...ended, report: { ...report, result: AttemptResult.CANCELLED, problem: AccountProblem.UNSPECIFIED } }
    : ended;
  // Most attempts show nothing new. Only a fault creates an incident of a pool, and without an
  // incident there is none to end.
  const changesHealth = applyReport(health, counted, rulesOf(broker)) !== health;
  const concernsPool = poolHealth.incidents.length > 0 || isFaultOfPool(report.result);
  const changes: Promise<unknown>[] = [];
  if (changesHealth) changes.push(changeAccountHealth(broker, counted));
  if (concernsPool) changes.push(changePoolHealth(broker, ended, poolHealth));
  for (const key of report.result === AttemptResult.SUCCEEDED ? [affinityKey, ...answerKeys] : [affinityKey]) {
    // Another account knows the session; later requests refer to this answer by keys of its own.
    const isMissed = key === affinityKey && report.affinityMissed;
    if (key !== '') changes.push(changeBinding(broker, attempt, key, isMissed));
  }
  if (changes.length > 0) await Promise.all(changes);
}

type Ended = Attempt & ReportedAttempt;

function rulesOf({ configuration: { settings }, random }: Broker) {
  return { settings, random };
}

/**
 * Whether the account's secret may be newer than the one the request was sent with: then its
 * refusal means nothing.
 */
async function hasNewerSecret(
  { configuration, credentials }: Broker,
  account: Account,
  ended: Ended,
): Promise<boolean> {
  // An unknown lease has expired.
  const { leasedAtMs = ended.nowMs - configuration.settings.leaseTtlMs } = ended;
  if (configuration.credentialSinceMs(account.id) > leasedAtMs) return true;
  // If this is unknown, the refusal counts, because the secret is usually the current one.
  return credentials.isNewerThan(account, leasedAtMs).catch(() => false);
}

async function changeAccountHealth(broker: Broker, ended: Ended): Promise<void> {
  let problem: Problem | undefined;
  let isFirstRefusal = false;
  const changed = await broker.store.changeHealth(ended.accountId, (health) => {
    const next = applyReport(health, ended, rulesOf(broker));
    problem = next.problem === health.problem ? undefined : next.problem;
    isFirstRefusal = isRefused(next, ended) && !isRefused(health, ended);
    return next;
  });
  if (changed && problem !== undefined) broker.metrics.accountDisabled(ended.pool, problem.kind);
  if (changed && isFirstRefusal) broker.metrics.accountRefused(ended.accountId, ended.report);
}

/** Whether its present credential makes the account pause, or is tested after such a pause. */
function isRefused(health: AccountHealth, { credentialId, nowMs }: Ended): boolean {
  const { cooldowns } = withCredential(health, credentialId);
  return cooldowns.some((cooldown) => causeOf(cooldown) === 'refusal' && nowMs < forgottenAtMs(cooldown));
}

async function changePoolHealth({ store, configuration, random }: Broker, ended: Ended, known: PoolHealth) {
  const { pool, model, nowMs, report } = ended;
  const rules = { settings: configuration.settings, random };
  const serving = configuration.accounts
    .ofPool(pool)
    .filter((account) => account.state === 'active' && servesModel(account, model));
  let oldestUnderWayMs: number | undefined;
  const { result: cause } = report;
  if (isFaultOfPool(cause)) {
    const sinceMs = incidentSinceMs(known, { cause, model, nowMs }, rules);
    oldestUnderWayMs = await store.oldestRequest({
      pool,
      model: cause === AttemptResult.OVERLOADED ? model : '',
      sinceMs,
    });
  }
  const attempt = { ...ended, accounts: serving.length, oldestUnderWayMs };
  await store.changePoolHealth(pool, (health) => applyToPool(health, attempt, rules));
}

async function changeBinding(
  { store, configuration }: Broker,
  { accountId, pool, report }: Attempt,
  key: string,
  isMissed: boolean,
) {
  const affinityId = affinityIdOf(pool, key);
  if (isMissed) await store.unbind(affinityId, accountId);
  else if (report.result === AttemptResult.SUCCEEDED)
    await store.bind(affinityId, accountId, configuration.settings.affinityTtlMs);
  // Its requests of the usual kind are served as before.
  else if (isFailure(report.result) && !concernsRequest(report)) await store.unbind(affinityId, accountId);
}
