import { isFaultOfPool } from '../accounts/attempt.ts';
import type { Probe } from './account-health.ts';
import type { EndedAttempt } from './apply-outcome.ts';
import { guessedMs, type HealthRules } from './cooldown.ts';

/** What is remembered of a pool's provider as a whole: faults that are not those of an account. A value, as AccountHealth. */
export interface PoolHealth {
  readonly troubles: readonly PoolTrouble[];
}

/** `overloaded`: the provider says that it is. `network_error`: there is no way to it. */
export type TroubleCause = 'overloaded' | 'network_error';

/** At most one for each cause and model. */
export interface PoolTrouble {
  readonly cause: TroubleCause;
  /** Providers are overloaded model by model. Empty: all of them. */
  readonly model: string;
  /** The first failure since the provider last showed that it serves. */
  readonly sinceMs: number;
  /** The last failures since then, oldest first. */
  readonly failures: readonly PoolFailure[];
  /** The pool's pause. Undefined while too few accounts have met the trouble. */
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
  readonly strikes: number;
  /** The one request that finds out whether it is over. */
  readonly probe?: Probe | undefined;
}

export const untroubled: PoolHealth = Object.freeze({ troubles: Object.freeze([]) });

/** Whether a pool may be asked for a model now. */
export type PoolAvailability =
  | { readonly kind: 'open' }
  | { readonly kind: 'paused'; readonly cause: TroubleCause; readonly untilMs: number }
  /** A pause has run out: one request may find out. */
  | { readonly kind: 'probe_due' }
  /** That request is under way; others need not wait for it any more after `untilMs`. */
  | { readonly kind: 'probing'; readonly cause: TroubleCause; readonly untilMs: number };

export function poolAvailabilityOf(health: PoolHealth, model: string, nowMs: number): PoolAvailability {
  const pauses = health.troubles
    .filter((trouble) => troublesModel(trouble, model))
    .flatMap(({ cause, pause }) => (pause === undefined || isOver(pause, nowMs) ? [] : [{ cause, ...pause }]));
  const running = pauses.find(({ untilMs }) => nowMs < untilMs);
  if (running !== undefined) return { kind: 'paused', cause: running.cause, untilMs: running.untilMs };
  const probed = pauses.find(({ probe }) => probe !== undefined);
  if (probed?.probe !== undefined) return { kind: 'probing', cause: probed.cause, untilMs: probed.probe.expiresAtMs };
  return pauses.length === 0 ? { kind: 'open' } : { kind: 'probe_due' };
}

/** Takes the right to find out. Undefined when nothing is to be found out, or another request has it. */
export function startPoolProbe(health: PoolHealth, model: string, probe: Probe, nowMs: number): PoolHealth | undefined {
  if (poolAvailabilityOf(health, model, nowMs).kind !== 'probe_due') return undefined;
  const troubles = health.troubles.map((trouble) => {
    const { pause } = trouble;
    if (pause === undefined || !troublesModel(trouble, model) || isOver(pause, nowMs)) return trouble;
    return { ...trouble, pause: { ...pause, probe } };
  });
  return { troubles };
}

function troublesModel(trouble: PoolTrouble, model: string): boolean {
  return trouble.model === '' || trouble.model === model;
}

/** When a trouble means nothing any more: long after its pause, so that one that comes back pauses for longer. */
export function forgottenTroubleAtMs({ pause, failures }: PoolTrouble): number {
  return (pause?.untilMs ?? failures.at(-1)?.atMs ?? 0) + rememberedMs;
}

const rememberedMs = 300_000;

/** True once a probe has not failed in its time, and when there was none for long. */
function isOver({ probe, untilMs }: PoolPause, nowMs: number): boolean {
  return nowMs >= untilMs + rememberedMs || (probe !== undefined && nowMs >= probe.expiresAtMs);
}

/** An attempt that has ended, as its pool's health needs to know it. */
export interface PoolAttempt extends EndedAttempt {
  readonly accountId: string;
  /** How many accounts of the pool may serve the model. */
  readonly accounts: number;
  /** When the oldest request was sent that is under way since the trouble began. Undefined: none is. See `troubleSinceMs`. */
  readonly oldestUnderWayMs: number | undefined;
}

/** When the trouble began that a fault belongs to. */
export function troubleSinceMs(
  health: PoolHealth,
  { cause, model, nowMs }: { readonly cause: TroubleCause; readonly model: string; readonly nowMs: number },
  rules: HealthRules,
): number {
  const known = knownTrouble(health, cause, model);
  const last = known?.failures.at(-1);
  if (known === undefined || last === undefined) return nowMs;
  const { poolTroubleWindowMs } = rules.settings;
  return nowMs - Math.max(last.atMs, known.pause?.untilMs ?? 0) < poolTroubleWindowMs ? known.sinceMs : nowMs;
}

/** A pool's health after one more attempt; the same value when the attempt says nothing new. Pure but for `random`. */
export function applyToPool(health: PoolHealth, attempt: PoolAttempt, rules: HealthRules): PoolHealth {
  const { result } = attempt.outcome;
  if (isFaultOfPool(result)) return afterFault(health, attempt, result, rules);
  // A probe without a result leaves the right to the next one.
  if (result === 'cancelled') return changeTroubles(health, (trouble) => withoutProbe(trouble, attempt));
  return afterAnswer(health, attempt);
}

/** The provider answered: the way to it is open, and after a success it has room. A request that was sent earlier proves nothing. */
function afterAnswer(health: PoolHealth, attempt: PoolAttempt): PoolHealth {
  const { model, outcome } = attempt;
  return changeTroubles(health, (trouble) => {
    if (!troublesModel(trouble, model)) return trouble;
    if (trouble.cause === 'overloaded' && outcome.result !== 'succeeded') return withoutProbe(trouble, attempt);
    return refutedBy(trouble, attempt);
  });
}

function refutedBy(trouble: PoolTrouble, { leaseId, leasedAtMs }: PoolAttempt): PoolTrouble | undefined {
  const { pause, failures, sinceMs } = trouble;
  const sentAtMs = leasedAtMs ?? Number.NEGATIVE_INFINITY;
  if (pause?.probe?.leaseId === leaseId || (pause !== undefined && sentAtMs > pause.sinceMs)) return undefined;
  if (sentAtMs <= sinceMs) return trouble;
  const later = failures.filter(({ atMs }) => atMs >= sentAtMs);
  return later.length === 0 && pause === undefined ? undefined : { ...trouble, sinceMs: sentAtMs, failures: later };
}

function withoutProbe(trouble: PoolTrouble, { leaseId }: PoolAttempt): PoolTrouble {
  const { pause } = trouble;
  return pause?.probe?.leaseId === leaseId ? { ...trouble, pause: { ...pause, probe: undefined } } : trouble;
}

function afterFault(health: PoolHealth, attempt: PoolAttempt, cause: TroubleCause, rules: HealthRules): PoolHealth {
  const { nowMs, accountId } = attempt;
  const known = knownTrouble(health, cause, attempt.model);
  const sinceMs = troubleSinceMs(health, { cause, model: attempt.model, nowMs }, rules);
  const run = sinceMs === known?.sinceMs ? known.failures : [];
  const failures = [...run, { accountId, atMs: nowMs }].slice(-manyFailures);
  const trouble: PoolTrouble = { cause, model: scopeOf(cause, attempt.model), sinceMs, failures, pause: known?.pause };
  const others = health.troubles.filter((other) => other !== known && nowMs < forgottenTroubleAtMs(other));
  return { troubles: [...others, withPause(trouble, attempt, rules)].slice(-maxTroubles) };
}

function withPause(trouble: PoolTrouble, attempt: PoolAttempt, rules: HealthRules): PoolTrouble {
  const { pause } = trouble;
  const { nowMs, leaseId, leasedAtMs = nowMs } = attempt;
  const wasProbe = pause?.probe?.leaseId === leaseId;
  // Requests that were under way when the pause began fail together: that is one event.
  if (pause !== undefined && !wasProbe && leasedAtMs <= pause.sinceMs) return trouble;
  if (!wasProbe && !isOfPool(trouble, attempt, rules)) return trouble;
  const strikes = (pause?.strikes ?? 0) + 1;
  const { poolPauseMs: firstMs, poolPauseMaxMs: maxMs } = rules.settings;
  const guessMs = guessedMs(strikes, { firstMs, maxMs }, rules);
  const givenMs = Math.min(maxMs, (attempt.outcome.retryAtMs ?? nowMs) - nowMs);
  return { ...trouble, pause: { sinceMs: nowMs, untilMs: nowMs + Math.max(guessMs, givenMs), strikes } };
}

/** True when so many accounts have met the trouble, or so many requests, that it is none of theirs, and nothing gets through. */
function isOfPool(trouble: PoolTrouble, attempt: PoolAttempt, rules: HealthRules): boolean {
  const { cause, sinceMs, failures } = trouble;
  const { poolTroubleAccounts, overloadConfirmMs, networkConfirmMs } = rules.settings;
  const confirmedMs = attempt.nowMs - (cause === 'overloaded' ? overloadConfirmMs : networkConfirmMs);
  if (sinceMs > confirmedMs || (attempt.oldestUnderWayMs ?? attempt.nowMs) <= confirmedMs) return false;
  const distinct = new Set(failures.map(({ accountId }) => accountId)).size;
  if (failures.length >= manyFailures) return true;
  return failures.length >= fewestFailures && distinct >= Math.min(poolTroubleAccounts, attempt.accounts);
}

/** Fewer in a row may be bad luck with a provider that refuses some requests and takes others. */
const fewestFailures = 8;
/** So many are no accident, even where few accounts of a pool take requests now. */
const manyFailures = 12;
const maxTroubles = 16;

function knownTrouble({ troubles }: PoolHealth, cause: TroubleCause, model: string): PoolTrouble | undefined {
  return troubles.find((trouble) => trouble.cause === cause && trouble.model === scopeOf(cause, model));
}

/** Providers are overloaded model by model; the way to them is the same for all. */
function scopeOf(cause: TroubleCause, model: string): string {
  return cause === 'overloaded' ? model : '';
}

/** Undefined takes a trouble away. The same health when none has changed. */
function changeTroubles(health: PoolHealth, change: (trouble: PoolTrouble) => PoolTrouble | undefined): PoolHealth {
  const troubles = health.troubles.map(change);
  if (troubles.every((trouble, index) => trouble === health.troubles[index])) return health;
  return { troubles: troubles.filter((trouble) => trouble !== undefined) };
}
