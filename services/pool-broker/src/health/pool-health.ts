import type { Probe } from './account-health.ts';

/** What is remembered of a pool's provider as a whole: faults that are not those of an account. A value, as AccountHealth. */
export interface PoolHealth {
  readonly incidents: readonly PoolIncident[];
}

/** `overloaded`: the provider says that it is. `network_error`: there is no way to it. */
export type IncidentCause = 'overloaded' | 'network_error';

/** At most one for each cause and model. */
export interface PoolIncident {
  readonly cause: IncidentCause;
  /** Providers are overloaded model by model. Empty: all of them. */
  readonly model: string;
  /** The first failure since the provider last showed that it serves. */
  readonly sinceMs: number;
  /** The last failures since then, oldest first. */
  readonly failures: readonly PoolFailure[];
  /** The pool's pause. Undefined while too few accounts have met the incident. */
  readonly pause?: PoolPause | undefined;
}

export interface PoolFailure {
  readonly accountId: string;
  readonly atMs: number;
}

export interface PoolPause {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** How many times in a row it had to be made. */
  readonly repeats: number;
  /** The one request that finds out whether it is over. */
  readonly probe?: Probe | undefined;
}

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
