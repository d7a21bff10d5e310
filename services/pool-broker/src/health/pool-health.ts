import { z } from 'zod';
import { probeSchema } from './account-health.ts';

const pauseSchema = z.object({
  sinceMs: z.number(),
  untilMs: z.number(),
  /** How many times in a row it had to be made. */
  repeats: z.number(),
  /** The one request that finds out whether it is over. */
  probe: probeSchema.optional(),
});

const incidentSchema = z.object({
  /** `overloaded`: the provider says that it is. `network_error`: there is no way to it. */
  cause: z.enum(['overloaded', 'network_error']),
  /** Providers are overloaded model by model. Empty: all of them. */
  model: z.string(),
  /** The first failure since the provider last showed that it serves. */
  sinceMs: z.number(),
  /** The last failures since then, oldest first. */
  failures: z.array(z.object({ accountId: z.string(), atMs: z.number() })).readonly(),
  /** The pool's pause. Undefined while too few accounts have met the incident. */
  pause: pauseSchema.optional(),
});

/** At most one incident for each cause and model. */
export const poolHealthSchema = z.object({ incidents: z.array(incidentSchema).readonly() });

/** What is remembered of a pool's provider as a whole: faults that are not those of an account. A value, as AccountHealth. */
export type PoolHealth = Readonly<z.infer<typeof poolHealthSchema>>;
export type PoolIncident = Readonly<z.infer<typeof incidentSchema>>;
export type IncidentCause = PoolIncident['cause'];
type PoolPause = Readonly<z.infer<typeof pauseSchema>>;

export const noIncidents: PoolHealth = Object.freeze({ incidents: Object.freeze([]) });

export function isAboutModel(incident: PoolIncident, model: string): boolean {
  return incident.model === '' || incident.model === model;
}

/** When an incident means nothing any more: long after its pause, so that one that comes back pauses for longer. */
export function forgottenIncidentAtMs({ pause, failures }: PoolIncident): number {
  return (pause?.untilMs ?? failures.at(-1)?.atMs ?? 0) + rememberedMs;
}

const rememberedMs = 300_000;

/** True once a probe has not failed in its time, and when there was none for long. */
export function isPauseOver({ probe, untilMs }: PoolPause, nowMs: number): boolean {
  return nowMs >= untilMs + rememberedMs || (probe !== undefined && nowMs >= probe.expiresAtMs);
}
