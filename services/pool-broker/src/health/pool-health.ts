import type { Probe } from './account-health.ts';

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
  /** That request is under way; `untilMs` is when others need not wait for it any more. */
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

export function troublesModel(trouble: PoolTrouble, model: string): boolean {
  return trouble.model === '' || trouble.model === model;
}

/** When a trouble means nothing any more: long after its pause, so that one that comes back pauses for longer. */
export function forgottenTroubleAtMs({ pause, failures }: PoolTrouble): number {
  return (pause?.untilMs ?? failures.at(-1)?.atMs ?? 0) + rememberedMs;
}

const rememberedMs = 300_000;

/** True once a probe heard nothing bad in its time, and when nobody cared to probe for long. */
function isOver({ probe, untilMs }: PoolPause, nowMs: number): boolean {
  return nowMs >= untilMs + rememberedMs || (probe !== undefined && nowMs >= probe.expiresAtMs);
}
