import {
  type AttemptOutcome,
  type FailureResult,
  holdsForModel,
  isSpent,
  type QuotaWindow,
} from '../accounts/attempt.ts';
import {
  type AccountHealth,
  type AccountProblem,
  type Cooldown,
  causeOf,
  concernsModel,
  type SeenWindow,
} from './account-health.ts';
import { errorAverageAt, isOver } from './availability.ts';
import { endProbe, type HealthRules, isProbedBy, withCooldown, withGuess } from './cooldown.ts';

/** An attempt that has ended, as its account's health needs to know it. */
export interface EndedAttempt {
  readonly leaseId: string;
  readonly model: string;
  readonly outcome: AttemptOutcome;
  /** When its lease was taken. Undefined: not known any more. */
  readonly leasedAtMs: number | undefined;
  /** See `Account.credentialId`. */
  readonly credentialId: string;
  readonly nowMs: number;
}

/** An account's health after one more attempt; the same value when the attempt says nothing new. Pure but for `random`. */
export function applyOutcome(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const seen = withWindows(health, attempt.outcome.windows, attempt.nowMs);
  return afterResult(withoutRefutedByWindows(seen, attempt), attempt, rules);
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
  const isRefuted = (cooldown: Cooldown) => concernsModel(cooldown, attempt.model) && isNewsOn(cooldown, attempt);
  const refuted = health.cooldowns.filter(isRefuted);
  if (refuted.length === 0) return withAttemptCounted(health, false, attempt.nowMs);
  const cooldowns = health.cooldowns.filter((cooldown) => !refuted.includes(cooldown));
  return refuted.some((cooldown) => causeOf(cooldown) === 'errors')
    ? { ...health, cooldowns, errorAverage: 0 }
    : withAttemptCounted({ ...health, cooldowns }, false, attempt.nowMs);
}

/** A window that has room again is no reason to wait, whichever model the answer that says so was for. */
function withoutRefutedByWindows(health: AccountHealth, attempt: EndedAttempt): AccountHealth {
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
  const { nowMs: sinceMs, outcome } = attempt;
  const { scope, retryAtMs, window } = limitOf(outcome, attempt.model, sinceMs);
  const { rateLimitCooldownMs: firstMs, rateLimitCooldownMaxMs: maxMs, givenCooldownMaxMs } = rules.settings;
  const reason = 'rate_limited';
  if (retryAtMs === undefined) return withGuess(health, { scope, reason, firstMs, maxMs }, attempt, rules);
  // An end that the provider named is believed to the millisecond, as far ahead as the settings allow.
  const untilMs = Math.min(retryAtMs, sinceMs + givenCooldownMaxMs);
  const given = { model: scope, reason, sinceMs, untilMs, givenByProvider: true, repeats: 0, window } as const;
  return withCooldown(health, given, rules);
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

/** Counts one more attempt. A single failure weighs a quarter, so that it takes three in a row to pass one half. */
function withAttemptCounted(health: AccountHealth, failed: boolean, nowMs: number): AccountHealth {
  if (!failed && health.errorAverage === 0) return health;
  const average = errorAverageAt(health, nowMs);
  if (!failed && average < negligible) return health.errorAverage === 0 ? health : { ...health, errorAverage: 0 };
  return { ...health, errorAverage: average + latestWeight * ((failed ? 1 : 0) - average), errorsAtMs: nowMs };
}

const latestWeight = 0.25;
const negligible = 0.01;

/** What a 429 limits, and until when. */
interface Limit {
  /** See `Cooldown.model`. */
  readonly scope: string;
  /** Undefined when the provider named no time that is yet to come. */
  readonly retryAtMs: number | undefined;
  /** The quota window that is used up, if it is one. */
  readonly window: string | undefined;
}

/**
 * What a 429 says: a model that is limited by a window of its family is limited with its whole family, and a time that
 * has passed is no reset: to believe it would be to ask again at once, and for ever.
 */
function limitOf({ retryAtMs, modelScoped, windows }: AttemptOutcome, model: string, nowMs: number): Limit {
  const spent = windows.filter((window) => isSpent(window) && !isOver({ ...window, seenAtMs: nowMs }, nowMs));
  const ofAccount = spent.filter(({ models }) => models === '');
  const ofModel = spent.filter(({ models }) => models !== '' && holdsForModel(models, model));
  const isOfModel = modelScoped || (ofAccount.length === 0 && ofModel.length > 0);
  const binding = lastToReset(isOfModel ? ofModel : ofAccount);
  const resetMs = retryAtMs ?? binding?.resetsAtMs;
  return {
    scope: isOfModel ? (binding?.models ?? model) : '',
    retryAtMs: resetMs === undefined || resetMs <= nowMs ? undefined : resetMs,
    window: binding?.name,
  };
}

function lastToReset(windows: readonly QuotaWindow[]): QuotaWindow | undefined {
  return windows.toSorted((one, other) => (other.resetsAtMs ?? 0) - (one.resetsAtMs ?? 0))[0];
}

/** The health with what was said last of its quotas. The same value as long as nothing has changed by much. */
export function withWindows(health: AccountHealth, windows: readonly QuotaWindow[], nowMs: number): AccountHealth {
  if (windows.length === 0) return health;
  const lasting = windows.filter(({ resetsAtMs }) => resetsAtMs === undefined || resetsAtMs - nowMs >= shortestMs);
  if (lasting.every((window) => isKnown(window, health.windows, nowMs))) return health;
  const others = health.windows.filter(
    (seen) => !isOver(seen, nowMs) && !lasting.some((window) => isSameWindow(window, seen)),
  );
  const latest = lasting.map((window) => ({ ...window, seenAtMs: nowMs }));
  return { ...health, windows: [...others, ...latest].slice(-maxWindows) };
}

// A window that is over so soon says nothing of the next choice.
const shortestMs = 5_000;

const maxWindows = 32;

// Each answer says a little more of its quotas: the store need not keep every one.
const smallestChange = 0.01;
const smallestShiftMs = 5_000;
const refreshMs = 60_000;

function isKnown(window: QuotaWindow, seen: readonly SeenWindow[], nowMs: number): boolean {
  const known = seen.find((other) => isSameWindow(other, window));
  if (known === undefined || nowMs - known.seenAtMs >= refreshMs) return false;
  const crossesEnd = known.usedFraction >= 1 !== window.usedFraction >= 1;
  const changed = Math.abs(known.usedFraction - window.usedFraction) >= smallestChange;
  const shiftMs = Math.abs((known.resetsAtMs ?? 0) - (window.resetsAtMs ?? 0));
  return !crossesEnd && !changed && shiftMs < smallestShiftMs;
}

function isSameWindow(one: QuotaWindow, other: QuotaWindow): boolean {
  return one.name === other.name && one.models === other.models;
}
