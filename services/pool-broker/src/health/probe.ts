import { type AccountHealth, type Cooldown, causeOf, concernsModel, isHalfOpen, isRunning } from './account-health.ts';
import { availabilityOf } from './availability.ts';
import { earlyProbeFromMs, type HealthRules } from './cooldown.ts';

export interface ProbeRequest {
  readonly leaseId: string;
  readonly model: string;
  readonly nowMs: number;
}

/** Takes the right to probe an account. Undefined when no probe is due, or another request has it. */
export function startProbe(
  health: AccountHealth,
  request: ProbeRequest,
  rules: HealthRules,
): AccountHealth | undefined {
  const availability = availabilityOf(health, request.model, request.nowMs);
  const isEarly = availability.kind === 'cooling' && availability.early !== 'not_yet';
  if (availability.kind !== 'probe_due' && !isEarly) return undefined;
  const cooldowns = health.cooldowns.map((cooldown) =>
    concernsModel(cooldown, request.model) ? withProbe(cooldown, request, rules) : cooldown,
  );
  return { ...health, cooldowns };
}

/** Gives the right back, for the next request to probe. The same value when the lease had none. */
export function endProbe(health: AccountHealth, leaseId: string): AccountHealth {
  if (!health.cooldowns.some((cooldown) => isProbedBy(cooldown, leaseId))) return health;
  const cooldowns = health.cooldowns.map((cooldown) =>
    isProbedBy(cooldown, leaseId) ? { ...cooldown, probe: undefined } : cooldown,
  );
  return { ...health, cooldowns };
}

export function isProbedBy({ probe }: Cooldown, leaseId: string): boolean {
  return probe?.leaseId === leaseId;
}

/** Whatever becomes of an early probe, the next one waits as long: the provider is not to be asked again and again. */
function withProbe(cooldown: Cooldown, { leaseId, nowMs }: ProbeRequest, rules: HealthRules): Cooldown {
  if (!isRunning(cooldown, nowMs) && !isHalfOpen(cooldown, nowMs)) return cooldown;
  const { probeTimeoutMs, limitProbeQuietMs } = rules.settings;
  const waitMs = causeOf(cooldown) === 'limit' ? Math.min(limitProbeQuietMs, probeTimeoutMs) : probeTimeoutMs;
  const probed = { ...cooldown, probe: { leaseId, expiresAtMs: nowMs + waitMs } };
  return isRunning(cooldown, nowMs) ? { ...probed, probeFromMs: earlyProbeFromMs(cooldown, nowMs, rules) } : probed;
}
