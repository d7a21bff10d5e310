import type { PoolSettings } from '@gateway/config';
import type { Wanted } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown } from './account-health.ts';
import { causeOf, changeCooldowns, concerns, forgottenAtMs, isHalfOpen, isRunning } from './account-health.ts';
import { availabilityOf } from './eligibility.ts';

export interface HealthRules {
  readonly settings: PoolSettings;
  readonly random: () => number;
}

type CooldownKind = Pick<Cooldown, 'model' | 'feature' | 'reason' | 'credentialMark'>;

/**
 * A cooldown with a guessed duration: it doubles while it proves too short, and is lengthened by
 * random jitter.
 */
export function withGuess(
  health: AccountHealth,
  kind: CooldownKind,
  { leasedAtMs, nowMs }: { readonly leasedAtMs: number | undefined; readonly nowMs: number },
  rules: HealthRules,
): AccountHealth {
  const previous = health.cooldowns.find((cooldown) => isSameKind(cooldown, kind));
  // Concurrent requests that fail together are a single event.
  if (previous !== undefined && isRunning(previous, nowMs) && (leasedAtMs ?? nowMs) <= previous.sinceMs) return health;
  const repeats = previous === undefined || nowMs >= forgottenAtMs(previous) ? 1 : previous.repeats + 1;
  const untilMs = nowMs + guessedMs(kind.reason, repeats, rules);
  return withCooldown(health, { ...kind, sinceMs: nowMs, untilMs, givenByProvider: false, repeats }, rules);
}

/**
 * A duration that doubles with each repeat, with random jitter so that cooldowns that start
 * together do not end together.
 */
export function guessedMs(reason: Cooldown['reason'], repeats: number, rules: HealthRules): number {
  const { settings } = rules;
  const [firstMs, maxMs] = {
    limit: [settings.rateLimitCooldownMs, settings.rateLimitCooldownMaxMs] as const,
    refusal: [settings.unauthorizedCooldownMs, settings.unauthorizedCooldownMaxMs] as const,
    errors: [settings.errorCooldownMs, settings.errorCooldownMaxMs] as const,
    provider: [settings.poolPauseMs, settings.poolPauseMaxMs] as const,
    lack: [settings.lackCooldownMs, settings.lackCooldownMaxMs] as const,
  }[causeOf({ reason })];
  return stretchedMs(Math.min(firstMs * 2 ** Math.min(repeats - 1, 30), Math.max(firstMs, maxMs)), rules);
}

function stretchedMs(durationMs: number, { settings, random }: HealthRules): number {
  return Math.ceil(durationMs * (1 + settings.cooldownJitter * random()));
}

/**
 * Adds a cooldown that starts now. It never shortens one; only requests sent from now on can end an
 * earlier one.
 */
export function withCooldown(health: AccountHealth, cooldown: Cooldown, rules: HealthRules): AccountHealth {
  const { sinceMs: nowMs } = cooldown;
  const previous = health.cooldowns.find((other) => isSameKind(other, cooldown));
  if (previous !== undefined && isRunning(previous, nowMs) && outlasts(previous, cooldown)) {
    return changeCooldowns(health, (other) => (other === previous ? { ...previous, sinceMs: nowMs } : other));
  }
  const others = health.cooldowns.filter((other) => other !== previous && nowMs < forgottenAtMs(other));
  const probeFromMs = earlyProbeFromMs(cooldown, nowMs, rules);
  const next = probeFromMs < cooldown.untilMs ? { ...cooldown, probeFromMs } : cooldown;
  return { ...health, cooldowns: withoutOldLacks([...others, next]) };
}

/** Bounded, because clients may make up names of models, and each would be remembered. */
function withoutOldLacks(cooldowns: readonly Cooldown[]): readonly Cooldown[] {
  const lacks = cooldowns.filter((cooldown) => causeOf(cooldown) === 'lack');
  const tooMany = new Set(lacks.toSorted((one, other) => one.sinceMs - other.sinceMs).slice(0, -maxLacks));
  return tooMany.size === 0 ? cooldowns : cooldowns.filter((cooldown) => !tooMany.has(cooldown));
}

const maxLacks = 50;

function outlasts(previous: Cooldown, next: Cooldown): boolean {
  return previous.untilMs > next.untilMs || (previous.untilMs === next.untilMs && previous.givenByProvider);
}

function isSameKind(one: CooldownKind, other: CooldownKind): boolean {
  return one.model === other.model && one.feature === other.feature && causeOf(one) === causeOf(other);
}

export interface ProbeRequest extends Wanted {
  readonly leaseId: string;
  readonly nowMs: number;
}

/**
 * Takes the right to probe an account. Undefined when no probe is due, or another request has the
 * right.
 */
export function startProbe(
  health: AccountHealth,
  request: ProbeRequest,
  rules: HealthRules,
): AccountHealth | undefined {
  const availability = availabilityOf(health, request, request.nowMs);
  const isEarly = availability.kind === 'cooling' && availability.early !== 'not_yet';
  if (availability.kind !== 'probe_due' && !isEarly) return undefined;
  return changeCooldowns(health, (cooldown) =>
    concerns(cooldown, request) ? withProbe(cooldown, request, rules) : cooldown,
  );
}

/**
 * Whether or not an early probe succeeds, the next one waits as long, so that the provider is not
 * asked again and again.
 */
export function withProbe(cooldown: Cooldown, { leaseId, nowMs }: ProbeRequest, rules: HealthRules): Cooldown {
  if (!isRunning(cooldown, nowMs) && !isHalfOpen(cooldown, nowMs)) return cooldown;
  const { probeTimeoutMs, limitProbeQuietMs, poolProbeQuietMs } = rules.settings;
  const waits = { limit: Math.min(limitProbeQuietMs, probeTimeoutMs), provider: poolProbeQuietMs };
  const waitMs = { refusal: probeTimeoutMs, errors: probeTimeoutMs, lack: probeTimeoutMs, ...waits }[causeOf(cooldown)];
  const probed = { ...cooldown, probe: { leaseId, expiresAtMs: nowMs + waitMs } };
  return isRunning(cooldown, nowMs) ? { ...probed, probeFromMs: earlyProbeFromMs(cooldown, nowMs, rules) } : probed;
}

/**
 * When a cooldown that starts or is probed now may be probed before its end. A missing model or
 * feature does not come back that soon.
 */
function earlyProbeFromMs(cooldown: Cooldown, nowMs: number, rules: HealthRules): number {
  const { givenByProvider, untilMs } = cooldown;
  if (causeOf(cooldown) === 'lack') return untilMs;
  const { earlyProbeIntervalMs, lastResortProbeIntervalMs } = rules.settings;
  return nowMs + stretchedMs(givenByProvider ? earlyProbeIntervalMs : lastResortProbeIntervalMs, rules);
}

/**
 * Releases the right, so that the next request can probe. The same object when the lease did not
 * have it.
 */
export function endProbe(health: AccountHealth, lease: Pick<ProbeRequest, 'leaseId'>): AccountHealth {
  return changeCooldowns(health, (cooldown) =>
    isProbedBy(cooldown, lease) ? { ...cooldown, probe: undefined } : cooldown,
  );
}

export function isProbedBy({ probe }: Cooldown, { leaseId }: Pick<ProbeRequest, 'leaseId'>): boolean {
  return probe?.leaseId === leaseId;
}
