import type { PoolSettings } from '@gateway/config';
import type { Wanted } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown } from './account-health.ts';
import { causeOf, changeCooldowns, concerns, forgottenAtMs, isHalfOpen, isRunning } from './account-health.ts';
import { availabilityOf } from './eligibility.ts';

export interface HealthRules {
  readonly settings: PoolSettings;
  readonly random: () => number;
}

type CooldownKind = Pick<Cooldown, 'model' | 'feature' | 'reason'>;

/** A cooldown of a duration that we make up: it doubles while it proves too short, and is stretched at random. */
export function withGuess(
  health: AccountHealth,
  kind: CooldownKind,
  { leasedAtMs, nowMs }: { readonly leasedAtMs: number | undefined; readonly nowMs: number },
  rules: HealthRules,
): AccountHealth {
  const previous = health.cooldowns.find((cooldown) => isSameKind(cooldown, kind));
  // Requests that were under way together fail together: that is one event, not many.
  if (previous !== undefined && isRunning(previous, nowMs) && (leasedAtMs ?? nowMs) <= previous.sinceMs) return health;
  const repeats = previous === undefined || nowMs >= forgottenAtMs(previous) ? 1 : previous.repeats + 1;
  const untilMs = nowMs + guessedMs(kind.reason, repeats, rules);
  return withCooldown(health, { ...kind, sinceMs: nowMs, untilMs, givenByProvider: false, repeats }, rules);
}

/** A duration that doubles with each repeat, stretched at random so that what began together does not end together. */
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

/** Adds a cooldown that begins now. None is ever shortened; only what is sent from now on can show that an earlier one is over. */
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

/** Clients may make up the names of models, of which each would be remembered. */
function withoutOldLacks(cooldowns: readonly Cooldown[]): readonly Cooldown[] {
  const lacks = cooldowns.filter((cooldown) => causeOf(cooldown) === 'lack');
  const tooMany = new Set(lacks.toSorted((one, other) => one.sinceMs - other.sinceMs).slice(0, -mostLacks));
  return tooMany.size === 0 ? cooldowns : cooldowns.filter((cooldown) => !tooMany.has(cooldown));
}

const mostLacks = 50;

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

/** Takes the right to probe an account. Undefined when no probe is due, or another request has it. */
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

/** Whether an early probe succeeds or not, the next one waits as long: the provider is not to be asked again and again. */
export function withProbe(cooldown: Cooldown, { leaseId, nowMs }: ProbeRequest, rules: HealthRules): Cooldown {
  if (!isRunning(cooldown, nowMs) && !isHalfOpen(cooldown, nowMs)) return cooldown;
  const { probeTimeoutMs, limitProbeQuietMs, poolProbeQuietMs } = rules.settings;
  const waits = { limit: Math.min(limitProbeQuietMs, probeTimeoutMs), provider: poolProbeQuietMs };
  const waitMs = { refusal: probeTimeoutMs, errors: probeTimeoutMs, lack: probeTimeoutMs, ...waits }[causeOf(cooldown)];
  const probed = { ...cooldown, probe: { leaseId, expiresAtMs: nowMs + waitMs } };
  return isRunning(cooldown, nowMs) ? { ...probed, probeFromMs: earlyProbeFromMs(cooldown, nowMs, rules) } : probed;
}

/**
 * When a cooldown that begins or was probed now may be probed ahead of its end. What an account lacks does not come
 * back so soon.
 */
function earlyProbeFromMs(cooldown: Cooldown, nowMs: number, rules: HealthRules): number {
  const { givenByProvider, untilMs } = cooldown;
  if (causeOf(cooldown) === 'lack') return untilMs;
  const { earlyProbeIntervalMs, lastResortProbeIntervalMs } = rules.settings;
  return nowMs + stretchedMs(givenByProvider ? earlyProbeIntervalMs : lastResortProbeIntervalMs, rules);
}

/** Gives the right back, for the next request to probe. The same value when the lease had none. */
export function endProbe(health: AccountHealth, lease: Pick<ProbeRequest, 'leaseId'>): AccountHealth {
  return changeCooldowns(health, (cooldown) =>
    isProbedBy(cooldown, lease) ? { ...cooldown, probe: undefined } : cooldown,
  );
}

export function isProbedBy({ probe }: Cooldown, { leaseId }: Pick<ProbeRequest, 'leaseId'>): boolean {
  return probe?.leaseId === leaseId;
}
