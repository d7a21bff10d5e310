import type { AttemptOutcome, FailureResult } from '../accounts/attempt.ts';
import { isSpent } from '../accounts/attempt.ts';
import { type AccountHealth, type AccountProblem, type Cooldown, causeOf, concernsModel } from './account-health.ts';
import { type HealthRules, withGivenReset, withGuess } from './cooldown.ts';
import { withAttemptCounted } from './error-average.ts';
import { limitOf } from './limit-scope.ts';
import { endProbe, isProbedBy } from './probe.ts';
import { withWindows } from './quota-windows.ts';

/** An attempt that has ended, as its account's health needs to know it. */
export interface EndedAttempt {
  readonly leaseId: string;
  readonly model: string;
  readonly outcome: AttemptOutcome;
  /** When its lease was taken. Undefined when nobody remembers. */
  readonly leasedAtMs: number | undefined;
  /** See `Account.credentialId`. */
  readonly credentialId: string;
  readonly nowMs: number;
}

/** An account's health after one more attempt; the same value when the attempt says nothing new. Pure but for `random`. */
export function applyOutcome(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const told = withWindows(health, attempt.outcome.windows, attempt.nowMs);
  return afterResult(withoutRefutedByWindows(told, attempt), attempt, rules);
}

function afterResult(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { result } = attempt.outcome;
  switch (result) {
    case 'succeeded':
      return afterSuccess(health, attempt);
    case 'rate_limited':
      return afterRateLimit(endProbe(health, attempt.leaseId), attempt, rules);
    case 'unauthorized':
      return afterRefusal(endProbe(health, attempt.leaseId), attempt, rules);
    case 'server_error':
    case 'timeout':
      return afterError(health, attempt, result, rules);
    // Of the provider or of the way there: whatever the account, it would have been the same.
    case 'overloaded':
    case 'network_error':
    case 'rejected':
    case 'cancelled':
      return endProbe(health, attempt.leaseId);
    default:
      return result satisfies never;
  }
}

/** What the provider granted after a cooldown had begun ends it, even one that the provider had named the end of. */
function afterSuccess(health: AccountHealth, attempt: EndedAttempt): AccountHealth {
  if (health.cooldowns.length === 0) return withAttemptCounted(health, false, attempt.nowMs);
  const refuted = health.cooldowns.filter(
    (cooldown) => concernsModel(cooldown, attempt.model) && isNewsOn(cooldown, attempt),
  );
  if (refuted.length === 0) return withAttemptCounted(health, false, attempt.nowMs);
  const cooldowns = health.cooldowns.filter((cooldown) => !refuted.includes(cooldown));
  return refuted.some((cooldown) => causeOf(cooldown) === 'errors')
    ? { ...health, cooldowns, errorAverage: 0 }
    : withAttemptCounted({ ...health, cooldowns }, false, attempt.nowMs);
}

/** A window that has room again is no reason to wait, whichever model the answer that says so was for. */
function withoutRefutedByWindows(health: AccountHealth, attempt: EndedAttempt): AccountHealth {
  if (health.cooldowns.length === 0) return health;
  const open = attempt.outcome.windows.filter((window) => !isSpent(window));
  const isRefuted = (cooldown: Cooldown) =>
    isNewsOn(cooldown, attempt) &&
    open.some(({ name, models }) => name === cooldown.window && models === cooldown.model);
  const cooldowns = health.cooldowns.filter((cooldown) => !isRefuted(cooldown));
  return cooldowns.length === health.cooldowns.length ? health : { ...health, cooldowns };
}

/** An answer to a request that was sent before the cooldown began may have begun before it too. */
function isNewsOn(cooldown: Cooldown, { leaseId, leasedAtMs }: EndedAttempt): boolean {
  return isProbedBy(cooldown, leaseId) || (leasedAtMs !== undefined && leasedAtMs > cooldown.sinceMs);
}

function afterRateLimit(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { nowMs } = attempt;
  const { scope, retryAtMs, window } = limitOf(attempt.outcome, attempt.model, nowMs);
  if (retryAtMs !== undefined) return withGivenReset(health, { scope, untilMs: retryAtMs, window }, nowMs, rules);
  const { rateLimitCooldownMs: firstMs, rateLimitCooldownMaxMs: maxMs } = rules.settings;
  return withGuess(health, { scope, reason: 'rate_limited', firstMs, maxMs }, attempt, rules);
}

function afterRefusal(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { problem: kind } = attempt.outcome;
  if (kind !== undefined)
    return withProblem(health, { kind, sinceMs: attempt.nowMs, credentialId: attempt.credentialId });
  const { unauthorizedCooldownMs: firstMs, unauthorizedCooldownMaxMs: maxMs } = rules.settings;
  return withGuess(health, { scope: '', reason: 'unauthorized', firstMs, maxMs }, attempt, rules);
}

/** Requests that were under way together learn the same: that is one event. */
function withProblem(health: AccountHealth, problem: AccountProblem): AccountHealth {
  return health.problem?.credentialId === problem.credentialId ? health : { ...health, problem };
}

/**
 * One error is no reason to pause an account; a failed probe, or too many errors of late, is. Answers that break after they
 * have begun are counted, so that other accounts are preferred, but pause nothing: the account may be the only one, and answers.
 */
function afterError(
  health: AccountHealth,
  attempt: EndedAttempt,
  reason: FailureResult,
  rules: HealthRules,
): AccountHealth {
  const { settings } = rules;
  const wasProbe = health.cooldowns.some(
    (cooldown) => causeOf(cooldown) === 'errors' && isProbedBy(cooldown, attempt.leaseId),
  );
  const counted = withAttemptCounted(endProbe(health, attempt.leaseId), true, attempt.nowMs);
  const isTooMuch = counted.errorAverage >= settings.errorThreshold && attempt.outcome.answerBegan !== true;
  if (!wasProbe && !isTooMuch) return counted;
  const { errorCooldownMs: firstMs, errorCooldownMaxMs: maxMs } = settings;
  return withGuess(counted, { scope: '', reason, firstMs, maxMs }, attempt, rules);
}
