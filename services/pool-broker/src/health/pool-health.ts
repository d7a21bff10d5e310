import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { z } from 'zod';
import { isFaultOfPool } from '../accounts/attempt.ts';
import { concerns, cooldownSchema, forgottenAtMs, hasPassedProbe } from './account-health.ts';
import type { ReportedAttempt } from './apply-report.ts';
import { guessedMs, type HealthRules, isProbedBy, type ProbeRequest, withProbe } from './cooldown.ts';
import { type Availability, availabilityOf } from './eligibility.ts';

const incidentSchema = z.object({
  /**
   * OVERLOADED: the provider reports overload. NETWORK_ERROR: the provider can't be reached.
   */
  cause: z.literal([AttemptResult.OVERLOADED, AttemptResult.NETWORK_ERROR]),
  /** Providers are overloaded for each model separately. Empty: all models. */
  model: z.string(),
  /** The first failure since the provider was last known to serve. */
  sinceMs: z.number(),
  /** The latest failures since then, oldest first. */
  failures: z.array(z.object({ accountId: z.string(), atMs: z.number() })).readonly(),
  /** The pool's pause. Undefined while too few accounts are affected. */
  pause: cooldownSchema.optional(),
});

/** At most one incident for each cause and model. */
export const poolHealthSchema = z.object({ incidents: z.array(incidentSchema).readonly() });

/**
 * The memory of a pool's provider as a whole: faults that are not those of an account. An immutable
 * value, like AccountHealth.
 */
export type PoolHealth = Readonly<z.infer<typeof poolHealthSchema>>;
export type PoolIncident = Readonly<z.infer<typeof incidentSchema>>;
export type IncidentCause = PoolIncident['cause'];

export const noIncidents: PoolHealth = Object.freeze({ incidents: Object.freeze([]) });

export interface PoolAttempt extends ReportedAttempt {
  readonly accountId: string;
  /** How many accounts of the pool can serve the model. */
  readonly accounts: number;
  /**
   * The start of the oldest request in flight that started after the incident did. Undefined: there
   * is none. See `incidentSinceMs`.
   */
  readonly oldestUnderWayMs: number | undefined;
}

/** The start of the incident to which a fault belongs. */
export function incidentSinceMs(
  health: PoolHealth,
  { cause, model, nowMs }: { readonly cause: IncidentCause; readonly model: string; readonly nowMs: number },
  { settings }: HealthRules,
): number {
  const known = knownIncident(health, cause, model);
  const last = known?.failures.at(-1);
  if (known === undefined || last === undefined) return nowMs;
  const quietMs = nowMs - Math.max(last.atMs, known.pause?.untilMs ?? 0);
  return quietMs < settings.poolFailureWindowMs ? known.sinceMs : nowMs;
}

/**
 * A pool's health after one more attempt; the same object when the attempt shows nothing new. Pure
 * except for `random`.
 */
export function applyToPool(health: PoolHealth, attempt: PoolAttempt, rules: HealthRules): PoolHealth {
  const { result } = attempt.report;
  if (isFaultOfPool(result)) return afterFault(health, attempt, result, rules);
  // A probe without a result leaves the right to probe to the next request.
  if (result === AttemptResult.CANCELLED) return changeIncidents(health, (incident) => withoutProbe(incident, attempt));
  return afterAnswer(health, attempt);
}

/** Whether the provider takes requests for the model now. */
export function poolAvailabilityOf({ incidents }: PoolHealth, model: string, nowMs: number): Availability {
  const cooldowns = incidents.map(({ pause }) => pause).filter((pause) => pause !== undefined);
  return availabilityOf({ cooldowns }, { model }, nowMs);
}

/**
 * Takes the right to probe the pool. Undefined when no probe is due, or another request has the
 * right.
 */
export function startPoolProbe(health: PoolHealth, request: ProbeRequest, rules: HealthRules): PoolHealth | undefined {
  const { model, nowMs } = request;
  if (poolAvailabilityOf(health, model, nowMs).kind !== 'probe_due') return undefined;
  return changeIncidents(health, (incident) => {
    const { pause } = incident;
    if (pause === undefined || !concerns(pause, request) || hasPassedProbe(pause, nowMs)) return incident;
    return { ...incident, pause: withProbe(pause, request, rules) };
  });
}

/**
 * The provider answered, so it can be reached; a success shows that it has room. A request that was
 * sent before the incident proves nothing.
 */
function afterAnswer(health: PoolHealth, attempt: PoolAttempt): PoolHealth {
  const { model, report } = attempt;
  return changeIncidents(health, (incident) => {
    if (!concerns(incident, { model })) return incident;
    if (incident.cause === AttemptResult.OVERLOADED && report.result !== AttemptResult.SUCCEEDED)
      return withoutProbe(incident, attempt);
    return refutedBy(incident, attempt);
  });
}

function refutedBy(incident: PoolIncident, attempt: PoolAttempt): PoolIncident | undefined {
  const { pause, failures, sinceMs } = incident;
  const sentAtMs = attempt.leasedAtMs ?? Number.NEGATIVE_INFINITY;
  if (pause !== undefined && (isProbedBy(pause, attempt) || sentAtMs > pause.sinceMs)) return undefined;
  if (sentAtMs <= sinceMs) return incident;
  const later = failures.filter(({ atMs }) => atMs >= sentAtMs);
  return later.length === 0 && pause === undefined ? undefined : { ...incident, sinceMs: sentAtMs, failures: later };
}

function withoutProbe(incident: PoolIncident, attempt: PoolAttempt): PoolIncident {
  const { pause } = incident;
  if (pause === undefined || !isProbedBy(pause, attempt)) return incident;
  return { ...incident, pause: { ...pause, probe: undefined } };
}

function afterFault(health: PoolHealth, attempt: PoolAttempt, cause: IncidentCause, rules: HealthRules): PoolHealth {
  const { nowMs, accountId, model } = attempt;
  const known = knownIncident(health, cause, model);
  const sinceMs = incidentSinceMs(health, { cause, model, nowMs }, rules);
  const earlier = sinceMs === known?.sinceMs ? known.failures : [];
  const failures = [...earlier, { accountId, atMs: nowMs }].slice(-manyFailures);
  const incident: PoolIncident = { cause, model: scopeOf(cause, model), sinceMs, failures, pause: known?.pause };
  const others = health.incidents.filter((other) => other !== known && nowMs < forgottenIncidentAtMs(other));
  return { incidents: [...others, withPause(incident, attempt, rules)].slice(-16) };
}

function withPause(incident: PoolIncident, attempt: PoolAttempt, rules: HealthRules): PoolIncident {
  const { pause, cause: reason, model } = incident;
  const { nowMs, leasedAtMs = nowMs } = attempt;
  const wasProbe = pause !== undefined && isProbedBy(pause, attempt);
  // Requests in flight when the pause began fail together: they are a single event.
  if (pause !== undefined && !wasProbe && leasedAtMs <= pause.sinceMs) return incident;
  if (!wasProbe && !isOfPool(incident, attempt, rules)) return incident;
  const repeats = (pause?.repeats ?? 0) + 1;
  const givenMs = Math.min(rules.settings.poolPauseMaxMs, (attempt.report.retryAtMs ?? nowMs) - nowMs);
  const untilMs = nowMs + Math.max(guessedMs(reason, repeats, rules), givenMs);
  return { ...incident, pause: { model, reason, sinceMs: nowMs, untilMs, givenByProvider: false, repeats } };
}

/**
 * True when so many accounts or requests are affected that the cause is not an account, and nothing
 * succeeds.
 */
function isOfPool(incident: PoolIncident, attempt: PoolAttempt, rules: HealthRules): boolean {
  const { cause, sinceMs, failures } = incident;
  const { poolFailureAccounts, overloadConfirmMs, networkConfirmMs } = rules.settings;
  const confirmedMs = attempt.nowMs - (cause === AttemptResult.OVERLOADED ? overloadConfirmMs : networkConfirmMs);
  if (sinceMs > confirmedMs || (attempt.oldestUnderWayMs ?? attempt.nowMs) <= confirmedMs) return false;
  const distinct = new Set(failures.map(({ accountId }) => accountId)).size;
  if (failures.length >= manyFailures) return true;
  return failures.length >= fewestFailures && distinct >= Math.min(poolFailureAccounts, attempt.accounts);
}

/** Fewer in a row may be coincidence at a provider that refuses only some requests. */
const fewestFailures = 8;
/** This many are no coincidence, even if few accounts of a pool take requests now. */
const manyFailures = 12;

function knownIncident({ incidents }: PoolHealth, cause: IncidentCause, model: string): PoolIncident | undefined {
  return incidents.find((incident) => incident.cause === cause && incident.model === scopeOf(cause, model));
}

/** Providers are overloaded for each model separately; the network is the same for all. */
function scopeOf(cause: IncidentCause, model: string): string {
  return cause === AttemptResult.OVERLOADED ? model : '';
}

/** Undefined removes an incident. The same object when nothing changed. */
function changeIncidents(health: PoolHealth, change: (incident: PoolIncident) => PoolIncident | undefined): PoolHealth {
  const incidents = health.incidents.map(change);
  if (incidents.every((incident, index) => incident === health.incidents[index])) return health;
  return { incidents: incidents.filter((incident) => incident !== undefined) };
}

/**
 * When an incident is forgotten: long after its pause, so that a recurring one pauses for longer.
 */
export function forgottenIncidentAtMs({ pause, failures }: PoolIncident): number {
  return pause === undefined ? (failures.at(-1)?.atMs ?? 0) + 300_000 : forgottenAtMs(pause);
}
