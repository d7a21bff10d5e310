import type { PoolSettings } from '@gateway/config';
import type { FailureResult } from '../accounts/attempt.ts';
import { type AccountHealth, type Cooldown, causeOf, forgottenAtMs, isRunning } from './account-health.ts';

export interface HealthRules {
  readonly settings: PoolSettings;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/** When an attempt was made and when it is told of. */
export interface AttemptTimes {
  /** When its lease was taken. Undefined when nobody remembers. */
  readonly leasedAtMs: number | undefined;
  readonly nowMs: number;
}

export interface GivenReset {
  /** See `Cooldown.model`. */
  readonly scope: string;
  readonly untilMs: number;
  readonly window: string | undefined;
}

/** A limit whose end the provider named: believed to the millisecond, as far ahead as the settings allow. */
export function withGivenReset(
  health: AccountHealth,
  { scope, untilMs, window }: GivenReset,
  nowMs: number,
  rules: HealthRules,
): AccountHealth {
  const { givenCooldownMaxMs } = rules.settings;
  return withCooldown(health, nowMs, rules, {
    model: scope,
    reason: 'rate_limited',
    sinceMs: nowMs,
    untilMs: Math.min(untilMs, nowMs + givenCooldownMaxMs),
    givenByProvider: true,
    strikes: 0,
    window,
  });
}

export interface Guess {
  /** See `Cooldown.model`. */
  readonly scope: string;
  readonly reason: FailureResult;
  readonly firstMs: number;
  readonly maxMs: number;
}

/** A cooldown of a duration that we make up: it doubles while it proves too short, and is stretched at random. */
export function withGuess(
  health: AccountHealth,
  guess: Guess,
  { leasedAtMs, nowMs }: AttemptTimes,
  rules: HealthRules,
): AccountHealth {
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
    return withCooldown(health, nowMs, rules, { ...fresh, untilMs: nowMs + guessedMs(1, guess, rules) });
  }
  // Requests that were under way together fail together: that is one event, not many.
  if (isRunning(previous, nowMs) && (leasedAtMs ?? nowMs) <= previous.sinceMs) return health;
  const strikes = previous.strikes + 1;
  return withCooldown(health, nowMs, rules, { ...fresh, strikes, untilMs: nowMs + guessedMs(strikes, guess, rules) });
}

/** A duration that doubles with each strike, stretched at random so that what began together does not end together. */
export function guessedMs(
  strikes: number,
  { firstMs, maxMs }: Pick<Guess, 'firstMs' | 'maxMs'>,
  rules: HealthRules,
): number {
  return stretchedMs(Math.min(firstMs * 2 ** Math.min(strikes - 1, 30), Math.max(firstMs, maxMs)), rules);
}

/** When a cooldown that begins or was probed now may be probed ahead of its end. */
export function earlyProbeFromMs({ givenByProvider }: Cooldown, nowMs: number, rules: HealthRules): number {
  const { earlyProbeIntervalMs, lastResortProbeIntervalMs } = rules.settings;
  return nowMs + stretchedMs(givenByProvider ? earlyProbeIntervalMs : lastResortProbeIntervalMs, rules);
}

function stretchedMs(durationMs: number, { settings, random }: HealthRules): number {
  return Math.ceil(durationMs * (1 + settings.cooldownJitter * random()));
}

/**
 * Adds a cooldown to those that still matter. One that ends later than its successor stays, for none is ever shortened; only
 * what is sent from now on can tell that it is over.
 */
function withCooldown(health: AccountHealth, nowMs: number, rules: HealthRules, cooldown: Cooldown): AccountHealth {
  const previous = health.cooldowns.find((other) => isSameKind(other, cooldown));
  if (previous !== undefined && isRunning(previous, nowMs) && outlasts(previous, cooldown)) {
    const confirmed = { ...previous, sinceMs: nowMs };
    return { ...health, cooldowns: health.cooldowns.map((other) => (other === previous ? confirmed : other)) };
  }
  const others = health.cooldowns.filter((other) => other !== previous && nowMs < forgottenAtMs(other));
  const probeFromMs = earlyProbeFromMs(cooldown, nowMs, rules);
  const next = probeFromMs < cooldown.untilMs ? { ...cooldown, probeFromMs } : cooldown;
  return { ...health, cooldowns: [...others, next] };
}

function outlasts(previous: Cooldown, next: Cooldown): boolean {
  return previous.untilMs > next.untilMs || (previous.untilMs === next.untilMs && previous.givenByProvider);
}

function isSameKind(one: Cooldown, other: Cooldown): boolean {
  return one.model === other.model && causeOf(one) === causeOf(other);
}
