import type { PoolSettings } from '@gateway/config';
import type { AttemptOutcome, FailureResult } from '../accounts/attempt.ts';
import {
  type AccountHealth,
  type Cooldown,
  causeOf,
  concernsModel,
  forgottenAtMs,
  isRunning,
} from './account-health.ts';
import { withAttemptCounted } from './error-average.ts';
import { endProbe } from './probe.ts';

/** An attempt that has ended, as its account's health needs to know it. */
export interface EndedAttempt {
  readonly leaseId: string;
  readonly model: string;
  readonly outcome: AttemptOutcome;
  /** When its lease was taken. Undefined when nobody remembers. */
  readonly leasedAtMs: number | undefined;
  readonly nowMs: number;
}

export interface HealthRules {
  readonly settings: PoolSettings;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** An account's health after one more attempt; the same value when the attempt says nothing new. Pure but for `random`. */
export function applyOutcome(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { result } = attempt.outcome;
  switch (result) {
    case 'succeeded':
      return afterSuccess(health, attempt);
    case 'rate_limited':
      return afterRateLimit(endProbe(health, attempt.leaseId), attempt, rules);
    case 'unauthorized':
      return afterRefusal(endProbe(health, attempt.leaseId), attempt, rules);
    case 'overloaded':
    case 'server_error':
    case 'network_error':
    case 'timeout':
      return afterError(health, attempt, result, rules);
    case 'rejected':
    case 'cancelled':
      return endProbe(health, attempt.leaseId);
    default:
      return result satisfies never;
  }
}

/** Ends what we guessed. What the provider named stays: the answer may have begun before it. */
function afterSuccess(health: AccountHealth, attempt: EndedAttempt): AccountHealth {
  const disproved = health.cooldowns.filter((cooldown) => isDisprovedBy(cooldown, attempt));
  if (disproved.length === 0) return withAttemptCounted(health, false, attempt.nowMs);
  const cooldowns = health.cooldowns.filter((cooldown) => !disproved.includes(cooldown));
  return disproved.some((cooldown) => causeOf(cooldown) === 'errors')
    ? { ...health, cooldowns, errorAverage: 0 }
    : withAttemptCounted({ ...health, cooldowns }, false, attempt.nowMs);
}

function isDisprovedBy(cooldown: Cooldown, { model, leaseId, leasedAtMs }: EndedAttempt): boolean {
  if (cooldown.givenByProvider || !concernsModel(cooldown, model)) return false;
  return cooldown.probe?.leaseId === leaseId || (leasedAtMs !== undefined && leasedAtMs > cooldown.sinceMs);
}

function afterRateLimit(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { outcome, model, nowMs } = attempt;
  const scope = outcome.modelScoped ? model : '';
  // A moment that has passed is no reset: to believe it would be to ask again at once, and for ever.
  if (outcome.retryAtMs === undefined || outcome.retryAtMs <= nowMs) {
    const { rateLimitCooldownMs: firstMs, rateLimitCooldownMaxMs: maxMs } = rules.settings;
    return withGuess(health, attempt, { scope, reason: 'rate_limited', firstMs, maxMs }, rules);
  }
  return withCooldown(health, nowMs, {
    model: scope,
    reason: 'rate_limited',
    sinceMs: nowMs,
    untilMs: Math.min(outcome.retryAtMs, nowMs + rules.settings.givenCooldownMaxMs),
    givenByProvider: true,
    strikes: 0,
  });
}

function afterRefusal(health: AccountHealth, attempt: EndedAttempt, rules: HealthRules): AccountHealth {
  const { unauthorizedCooldownMs: durationMs } = rules.settings;
  const guess = { scope: '', reason: 'unauthorized', firstMs: durationMs, maxMs: durationMs } as const;
  return withGuess(health, attempt, guess, rules);
}

/** One error is no reason to pause an account; a failed probe, or too many errors of late, is. */
function afterError(
  health: AccountHealth,
  attempt: EndedAttempt,
  reason: FailureResult,
  rules: HealthRules,
): AccountHealth {
  const { settings } = rules;
  const wasProbe = health.cooldowns.some(
    (cooldown) => causeOf(cooldown) === 'errors' && cooldown.probe?.leaseId === attempt.leaseId,
  );
  const counted = withAttemptCounted(endProbe(health, attempt.leaseId), true, attempt.nowMs);
  if (!wasProbe && counted.errorAverage < settings.errorThreshold) return counted;
  const { errorCooldownMs: firstMs, errorCooldownMaxMs: maxMs } = settings;
  return withGuess(counted, attempt, { scope: '', reason, firstMs, maxMs }, rules);
}

interface Guess {
  readonly scope: string;
  readonly reason: FailureResult;
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A cooldown of a duration that we make up: it doubles while it proves too short, and is stretched at random. */
function withGuess(health: AccountHealth, attempt: EndedAttempt, guess: Guess, rules: HealthRules): AccountHealth {
  const { nowMs } = attempt;
  const fresh: Cooldown = {
    model: guess.scope,
    reason: guess.reason,
    sinceMs: nowMs,
    untilMs: nowMs,
    givenByProvider: false,
    strikes: 1,
  };
  const previous = health.cooldowns.find((cooldown) => isSameKind(cooldown, fresh));
  if (previous === undefined || nowMs >= forgottenAtMs(previous)) {
    return withCooldown(health, nowMs, { ...fresh, untilMs: nowMs + guessedMs(1, guess, rules) });
  }
  // Requests that were under way together fail together: that is one event, not many.
  if (isRunning(previous, nowMs) && (attempt.leasedAtMs ?? nowMs) <= previous.sinceMs) return health;
  const strikes = previous.strikes + 1;
  return withCooldown(health, nowMs, { ...fresh, strikes, untilMs: nowMs + guessedMs(strikes, guess, rules) });
}

function guessedMs(strikes: number, { firstMs, maxMs }: Guess, { settings, random }: HealthRules): number {
  const doubledMs = Math.min(firstMs * 2 ** Math.min(strikes - 1, 30), Math.max(firstMs, maxMs));
  return Math.ceil(doubledMs * (1 + settings.cooldownJitter * random()));
}

/** Adds a cooldown to those that still matter. One that ends later than its successor stays: none is ever shortened. */
function withCooldown(health: AccountHealth, nowMs: number, cooldown: Cooldown): AccountHealth {
  const previous = health.cooldowns.find((other) => isSameKind(other, cooldown));
  if (previous !== undefined && isRunning(previous, nowMs) && outlasts(previous, cooldown)) return health;
  const others = health.cooldowns.filter((other) => other !== previous && nowMs < forgottenAtMs(other));
  return { ...health, cooldowns: [...others, cooldown] };
}

function outlasts(previous: Cooldown, next: Cooldown): boolean {
  return previous.untilMs > next.untilMs || (previous.untilMs === next.untilMs && previous.givenByProvider);
}

function isSameKind(one: Cooldown, other: Cooldown): boolean {
  return one.model === other.model && causeOf(one) === causeOf(other);
}
