import { type AccountHealth, concernsModel, isHalfOpen, type Probe } from './account-health.ts';
import { availabilityOf } from './availability.ts';

/** Takes the right to probe an account. Undefined when no probe is due, or another request has it. */
export function startProbe(
  health: AccountHealth,
  { model, nowMs, probe }: { readonly model: string; readonly nowMs: number; readonly probe: Probe },
): AccountHealth | undefined {
  if (availabilityOf(health, model, nowMs).kind !== 'probe_due') return undefined;
  const cooldowns = health.cooldowns.map((cooldown) =>
    concernsModel(cooldown, model) && isHalfOpen(cooldown, nowMs) ? { ...cooldown, probe } : cooldown,
  );
  return { ...health, cooldowns };
}

/** Gives the right back, for the next request to probe. The same value when the lease had none. */
export function endProbe(health: AccountHealth, leaseId: string): AccountHealth {
  if (!health.cooldowns.some(({ probe }) => probe?.leaseId === leaseId)) return health;
  const cooldowns = health.cooldowns.map((cooldown) =>
    cooldown.probe?.leaseId === leaseId ? { ...cooldown, probe: undefined } : cooldown,
  );
  return { ...health, cooldowns };
}
