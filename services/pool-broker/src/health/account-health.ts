import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import { z } from 'zod';
import { failures, holdsForModel, type Wanted } from '../accounts/attempt.ts';

const probeSchema = z.object({
  leaseId: z.string(),
  /** When others need not wait for it any more, should its end not be reported. */
  expiresAtMs: z.number(),
});

export const cooldownSchema = z.object({
  /** The models it is confined to: an id or, for a family, a pattern. Empty: the whole account. */
  model: z.string(),
  /** The feature it is confined to, as a pattern. Undefined: requests are kept away whatever they ask for. */
  feature: z.string().optional(),
  reason: z.enum(failures),
  /** When it began, or was last confirmed. */
  sinceMs: z.number(),
  untilMs: z.number(),
  /** True when the provider named the end: it is honoured exactly, and nothing needs to be found out after it. */
  givenByProvider: z.boolean(),
  /** How many times in a row the duration had to be guessed. */
  repeats: z.number(),
  /** The quota window that was used up, where the provider named one. */
  window: z.string().optional(),
  /** From when on one request may find out ahead of the end whether it is over. Undefined: not before the end. */
  probeFromMs: z.number().optional(),
  /** The one request that finds out whether the cooldown is over. */
  probe: probeSchema.optional(),
});

const windowSchema = z.object({
  name: z.string(),
  models: z.string(),
  usedFraction: z.number(),
  resetsAtMs: z.number().optional(),
  lengthMs: z.number().optional(),
  seenAtMs: z.number(),
});

const problemSchema = z.object({
  kind: z.enum(['credential_revoked', 'account_disabled']),
  sinceMs: z.number(),
  credentialId: z.string(),
});

export const accountHealthSchema = z.object({
  cooldowns: z.array(cooldownSchema).readonly(),
  /** What the provider said last of each quota. */
  windows: z.array(windowSchema).readonly(),
  /** Moving share of failed attempts, 0 to 1, as of `errorsAtMs`; it fades with time. */
  errorAverage: z.number(),
  errorsAtMs: z.number(),
  /** Why its provider takes nothing of it any more. Ends with the credential that was refused, or by an operator. */
  problem: problemSchema.optional(),
});

/** What is remembered of an account's recent attempts. A value: rules make a new one, stores keep it. */
export type AccountHealth = Readonly<z.infer<typeof accountHealthSchema>>;
export type AccountProblem = Readonly<z.infer<typeof problemSchema>>;
/** Time during which an account, or some models of it, takes no requests. At most one for each scope and cause. */
export type Cooldown = Readonly<z.infer<typeof cooldownSchema>>;
export type SeenWindow = Readonly<z.infer<typeof windowSchema>>;

/**
 * Why an account cools down: kept apart, so that being refused does not hide behind a longer limit. `lack`: of a model
 * or a feature.
 */
export type CooldownCause = 'limit' | 'refusal' | 'errors' | 'provider' | 'lack';

export const healthy: AccountHealth = Object.freeze({
  cooldowns: Object.freeze([]),
  windows: Object.freeze([]),
  errorAverage: 0,
  errorsAtMs: 0,
});

export function causeOf({ reason }: Pick<Cooldown, 'reason'>): CooldownCause {
  return causes[reason];
}

const causes: Readonly<Record<Cooldown['reason'], CooldownCause>> = {
  rate_limited: 'limit',
  unauthorized: 'refusal',
  server_error: 'errors',
  timeout: 'errors',
  overloaded: 'provider',
  network_error: 'provider',
  model_unavailable: 'lack',
  feature_unavailable: 'lack',
};

/** Whether a cooldown keeps such requests away. */
export function concerns({ model, feature }: Pick<Cooldown, 'model' | 'feature'>, wanted: Wanted): boolean {
  if (!holdsForModel(model, wanted.model)) return false;
  return feature === undefined || (wanted.features ?? []).some((name) => matchesAnyPattern(name, [feature]));
}

export function isRunning(cooldown: Cooldown, nowMs: number): boolean {
  return nowMs < cooldown.untilMs;
}

/** True once a guessed cooldown has run out and it is not known yet whether the account is back. */
export function isHalfOpen(cooldown: Cooldown, nowMs: number): boolean {
  return !cooldown.givenByProvider && !isRunning(cooldown, nowMs) && nowMs < forgottenAtMs(cooldown);
}

/** True when a probe has not failed in time. Limits and a provider's faults are answered at once, so that they are as good as over. */
export function hasPassedProbe(cooldown: Cooldown, nowMs: number): boolean {
  const isAnsweredAtOnce = causeOf(cooldown) === 'limit' || causeOf(cooldown) === 'provider';
  return isAnsweredAtOnce && cooldown.probe !== undefined && nowMs >= cooldown.probe.expiresAtMs;
}

/** When a problem that no person has solved is forgotten: one request finds out then whether it is still there. */
export function forgottenProblemAtMs({ sinceMs }: AccountProblem): number {
  return sinceMs + 30 * 86_400_000;
}

export function healthForgottenAtMs({ windows, cooldowns, errorsAtMs, problem }: AccountHealth): number {
  return Math.max(
    errorsAtMs + hourMs,
    ...cooldowns.map(forgottenAtMs),
    ...windows.map(({ resetsAtMs, seenAtMs }) => resetsAtMs ?? seenAtMs + hourMs),
    problem === undefined ? 0 : forgottenProblemAtMs(problem),
  );
}

const hourMs = 3_600_000;

/** When a cooldown means nothing any more: at its end if the provider named it, else a while after it. */
export function forgottenAtMs(cooldown: Cooldown): number {
  if (cooldown.givenByProvider) return cooldown.untilMs;
  return cooldown.untilMs + (causeOf(cooldown) === 'provider' ? 300_000 : hourMs);
}

/** The health without all that its account was refused with. The same value when there was nothing. */
export function withoutRefusals(health: AccountHealth): AccountHealth {
  const rest = changeCooldowns(health, (cooldown) => (causeOf(cooldown) === 'refusal' ? undefined : cooldown));
  return rest.problem === undefined ? rest : { ...rest, problem: undefined };
}

/** After a new access token the pause that the one before was refused with ends. The same value when there was none. */
export function afterRenewal(
  health: AccountHealth,
  { issuedAtMs, nowMs }: { readonly issuedAtMs: number; readonly nowMs: number },
): AccountHealth {
  return changeCooldowns(health, (cooldown) => {
    const isEnding = causeOf(cooldown) === 'refusal' && cooldown.sinceMs <= issuedAtMs && cooldown.untilMs > nowMs;
    return isEnding ? { ...cooldown, untilMs: nowMs } : cooldown;
  });
}

/** Undefined takes a cooldown away. The same health when none has changed. */
export function changeCooldowns(
  health: AccountHealth,
  change: (cooldown: Cooldown) => Cooldown | undefined,
): AccountHealth {
  const cooldowns = health.cooldowns.map(change);
  if (cooldowns.every((cooldown, index) => cooldown === health.cooldowns[index])) return health;
  return { ...health, cooldowns: cooldowns.filter((cooldown) => cooldown !== undefined) };
}

/** What two stores know of one account: of each scope and cause the cooldown that ends later, of each quota what was said last. */
export function mergeHealth(one: AccountHealth, other: AccountHealth): AccountHealth {
  const cooldowns = mergeBy(
    [...one.cooldowns, ...other.cooldowns],
    (cooldown) => `${causeOf(cooldown)} ${cooldown.model} ${cooldown.feature ?? ''}`,
    (cooldown) => cooldown.untilMs,
  );
  const windows = mergeBy(
    [...one.windows, ...other.windows],
    (window) => `${window.name} ${window.models}`,
    (window) => window.seenAtMs,
  );
  const problem = (one.problem?.sinceMs ?? 0) >= (other.problem?.sinceMs ?? 0) ? one.problem : other.problem;
  const { errorAverage, errorsAtMs } = one.errorsAtMs >= other.errorsAtMs ? one : other;
  return { cooldowns, windows, errorAverage, errorsAtMs, problem };
}

/** Of each kind the item that is worth most; the first of equals. */
function mergeBy<T>(items: readonly T[], kindOf: (item: T) => string, worthOf: (item: T) => number): readonly T[] {
  const better = (one: T, other: T) => (worthOf(other) > worthOf(one) ? other : one);
  return [...Map.groupBy(items, kindOf).values()].map((group) => group.reduce(better));
}
