import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { Attempt, AttemptReport, QuotaWindow } from '../accounts/attempt.ts';
import { holdsForModel, isFailure, isLack, isSpent } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown, SeenWindow } from './account-health.ts';
import { causeOf, concerns, credentialMarkOf, withCredential } from './account-health.ts';
import { endProbe, type HealthRules, isProbedBy, withCooldown, withGuess } from './cooldown.ts';
import { errorAverageAt, isOver } from './eligibility.ts';

export interface ReportedAttempt extends Pick<Attempt, 'leaseId' | 'model' | 'report'> {
  /** When its lease was taken. Undefined: no longer known. */
  readonly leasedAtMs: number | undefined;
  readonly credentialId: string;
  readonly nowMs: number;
}

/**
 * An account's health after one more attempt; the same object when the attempt shows nothing new.
 * Pure except for `random`.
 */
export function applyReport(health: AccountHealth, attempt: ReportedAttempt, rules: HealthRules): AccountHealth {
  const { result, windows } = attempt.report;
  const known = withCredential(health, attempt.credentialId);
  const seen = withLastError(withWindows(known, windows, attempt.nowMs), attempt);
  return (afterResult[result] ?? endProbe)(withoutDisproved(seen, attempt), attempt, rules);
}

/**
 * Limits, missing features and rejected requests are no errors: the provider answers and accepts
 * the credential.
 */
function withLastError(health: AccountHealth, { report, nowMs: atMs }: ReportedAttempt): AccountHealth {
  const { result, upstreamStatus, cause } = report;
  const { lastError } = health;
  if (isFailure(result) && result !== AttemptResult.RATE_LIMITED && !isLack(result)) {
    const inARow = (lastError?.inARow ?? 0) + 1;
    return { ...health, lastError: { result, upstreamStatus, cause, atMs, inARow } };
  }
  if (lastError === undefined || lastError.inARow === 0 || result === AttemptResult.CANCELLED) return health;
  return { ...health, lastError: { ...lastError, inARow: 0 } };
}

/**
 * Others only end a probe: with OVERLOADED and NETWORK_ERROR any account would have had the same
 * result; with REFUSED the account and what the request chose are equally likely causes, see
 * `isDoubted`.
 */
const afterResult: Readonly<Partial<Record<AttemptResult, typeof applyReport>>> = {
  [AttemptResult.SUCCEEDED]: (health, { nowMs }) => withAttemptCounted(health, false, nowMs),
  [AttemptResult.RATE_LIMITED]: afterRateLimit,
  [AttemptResult.UNAUTHORIZED]: afterRefusal,
  [AttemptResult.SERVER_ERROR]: afterError,
  [AttemptResult.TIMEOUT]: afterError,
  [AttemptResult.MODEL_UNAVAILABLE]: afterLack,
  [AttemptResult.FEATURE_UNAVAILABLE]: afterLack,
};

/**
 * A success that started after a cooldown began ends the cooldown, even one whose end the provider
 * named. A quota window with room ends it too.
 */
function withoutDisproved(health: AccountHealth, attempt: ReportedAttempt): AccountHealth {
  const { result, windows } = attempt.report;
  const hasRoom = ({ window, model }: Cooldown) =>
    windows.some((each) => !isSpent(each) && each.name === window && each.models === model);
  // The requested features are unknown here, except that a probe requested the feature it was to
  // test.
  const isOfServed = (cooldown: Cooldown) =>
    cooldown.feature === undefined ? concerns(cooldown, { model: attempt.model }) : isProbedBy(cooldown, attempt);
  const isServed = (cooldown: Cooldown) => result === AttemptResult.SUCCEEDED && isOfServed(cooldown);
  const isDisproved = (cooldown: Cooldown) =>
    startedAfter(cooldown, attempt) && (isServed(cooldown) || hasRoom(cooldown));
  const disproved = health.cooldowns.filter(isDisproved);
  if (disproved.length === 0) return health;
  const cooldowns = health.cooldowns.filter((cooldown) => !disproved.includes(cooldown));
  const errorAverage = disproved.some((cooldown) => causeOf(cooldown) === 'errors') ? 0 : health.errorAverage;
  return { ...health, cooldowns, errorAverage };
}

/**
 * True if the attempt started after the cooldown. One that started earlier may also have been
 * answered before it.
 */
function startedAfter(cooldown: Cooldown, attempt: ReportedAttempt): boolean {
  return isProbedBy(cooldown, attempt) || (attempt.leasedAtMs ?? cooldown.sinceMs) > cooldown.sinceMs;
}

function afterRateLimit(health: AccountHealth, attempt: ReportedAttempt, rules: HealthRules): AccountHealth {
  const { nowMs: sinceMs, report } = attempt;
  const { scope: model, retryAtMs, window } = limitOf(report, attempt.model, sinceMs);
  const reason = AttemptResult.RATE_LIMITED;
  const ended = endProbe(health, attempt);
  if (retryAtMs === undefined) return withGuess(ended, { model, reason }, attempt, rules);
  // An end that the provider named is honoured to the millisecond, up to the configured maximum.
  const untilMs = Math.min(retryAtMs, sinceMs + rules.settings.givenCooldownMaxMs);
  return withCooldown(ended, { model, reason, sinceMs, untilMs, givenByProvider: true, repeats: 0, window }, rules);
}

/** Concurrent requests that meet the same problem are a single event. */
function afterRefusal(health: AccountHealth, attempt: ReportedAttempt, rules: HealthRules): AccountHealth {
  const { credentialId, nowMs: sinceMs, report } = attempt;
  const ended = endProbe(health, attempt);
  if (report.problem !== AccountProblem.UNSPECIFIED) {
    const isKnownProblem = ended.problem?.credentialId === credentialId;
    return isKnownProblem ? ended : { ...ended, problem: { kind: report.problem, sinceMs, credentialId } };
  }
  const credentialMark = credentialMarkOf(credentialId);
  return withGuess(ended, { model: '', reason: AttemptResult.UNAUTHORIZED, credentialMark }, attempt, rules);
}

/** The account lacks the model or a feature; it continues to serve everything else. */
function afterLack(health: AccountHealth, attempt: ReportedAttempt, rules: HealthRules): AccountHealth {
  const { result: reason, feature } = attempt.report;
  const ended = endProbe(health, attempt);
  if (reason === AttemptResult.MODEL_UNAVAILABLE)
    return withGuess(ended, { model: attempt.model, reason }, attempt, rules);
  if (reason !== AttemptResult.FEATURE_UNAVAILABLE || feature === '') return ended;
  return withGuess(ended, { model: '', feature, reason }, attempt, rules);
}

/**
 * A failed probe, or too many recent errors, pauses the account. Answers that break off after they
 * started are counted but pause nothing: the account may be the only one, and it does answer.
 */
function afterError(health: AccountHealth, attempt: ReportedAttempt, rules: HealthRules): AccountHealth {
  const { result, answerBegan } = attempt.report;
  const wasProbe = health.cooldowns.some((cooldown) => causeOf(cooldown) === 'errors' && isProbedBy(cooldown, attempt));
  const counted = withAttemptCounted(endProbe(health, attempt), true, attempt.nowMs);
  const isTooMuch = counted.errorAverage >= rules.settings.errorThreshold && !answerBegan;
  if (!wasProbe && !isTooMuch) return counted;
  const reason = result === AttemptResult.TIMEOUT ? result : AttemptResult.SERVER_ERROR;
  return withGuess(counted, { model: '', reason }, attempt, rules);
}

/**
 * Counts one more attempt. A failure weighs one quarter, so that it takes three in a row to exceed
 * one half.
 */
function withAttemptCounted(health: AccountHealth, failed: boolean, nowMs: number): AccountHealth {
  if (!failed && health.errorAverage === 0) return health;
  const average = errorAverageAt(health, nowMs);
  if (!failed && average < 0.01) return { ...health, errorAverage: 0 };
  return { ...health, errorAverage: average + 0.25 * ((failed ? 1 : 0) - average), errorsAtMs: nowMs };
}

/**
 * If the window of a model's family is exhausted, the whole family is limited. A time in the past
 * is not a reset.
 */
function limitOf({ retryAtMs, modelScoped, windows }: AttemptReport, model: string, nowMs: number) {
  const spent = windows.filter((window) => isSpent(window) && !isOver({ ...window, seenAtMs: nowMs }, nowMs));
  const ofAccount = spent.filter(({ models }) => models === '');
  const ofModel = spent.filter(({ models }) => models !== '' && holdsForModel(models, model));
  const isOfModel = modelScoped || (ofAccount.length === 0 && ofModel.length > 0);
  const [binding] = (isOfModel ? ofModel : ofAccount).toSorted((a, b) => (b.resetsAtMs ?? 0) - (a.resetsAtMs ?? 0));
  const resetMs = retryAtMs ?? binding?.resetsAtMs ?? nowMs;
  return {
    scope: isOfModel ? (binding?.models ?? model) : '',
    retryAtMs: resetMs > nowMs ? resetMs : undefined,
    window: binding?.name,
  };
}

/**
 * The health with the latest reports of its quotas. The same object as long as nothing changed
 * significantly.
 */
export function withWindows(health: AccountHealth, windows: readonly QuotaWindow[], nowMs: number): AccountHealth {
  if (windows.length === 0) return health;
  // A window that ends within seconds is irrelevant for the next choice.
  const lasting = windows.filter(({ resetsAtMs }) => resetsAtMs === undefined || resetsAtMs - nowMs >= 5_000);
  if (lasting.every((window) => isKnown(window, health.windows, nowMs))) return health;
  const others = health.windows.filter(
    (seen) => !isOver(seen, nowMs) && !lasting.some((window) => isSameWindow(window, seen)),
  );
  const latest = lasting.map((window) => ({ ...window, seenAtMs: nowMs }));
  return { ...health, windows: [...others, ...latest].slice(-32) };
}

/** Each answer changes its quotas a little: the store need not keep every change. */
function isKnown(window: QuotaWindow, seen: readonly SeenWindow[], nowMs: number): boolean {
  const known = seen.find((other) => isSameWindow(other, window));
  if (known === undefined || nowMs - known.seenAtMs >= 60_000) return false;
  const crossesEnd = known.usedFraction >= 1 !== window.usedFraction >= 1;
  const changed = Math.abs(known.usedFraction - window.usedFraction) >= 0.01;
  const shiftMs = Math.abs((known.resetsAtMs ?? 0) - (window.resetsAtMs ?? 0));
  return !crossesEnd && !changed && shiftMs < 5_000;
}

function isSameWindow(one: QuotaWindow, other: QuotaWindow): boolean {
  return one.name === other.name && one.models === other.models;
}
