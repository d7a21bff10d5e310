import { matchesAnyPattern } from '@gateway/presentation/model-pattern';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { z } from 'zod';
import { failures, holdsForModel, isSpent, problems, type Wanted } from '../accounts/attempt.ts';

const probeSchema = z.object({
  leaseId: z.string(),
  /** When other requests no longer need to wait for the probe, if its end is not reported. */
  expiresAtMs: z.number(),
});

export const cooldownSchema = z.object({
  /** The models that it applies to: an id or, for a family, a pattern. Empty: the whole account. */
  model: z.string(),
  /**
   * The feature that it applies to, as a pattern. Undefined: it applies to requests with any
   * features.
   */
  feature: z.string().optional(),
  reason: z.literal(failures),
  /** When it started, or was last confirmed. */
  sinceMs: z.number(),
  untilMs: z.number(),
  /**
   * True when the provider named the end: the end is honoured exactly, and no probe is needed after
   * it.
   */
  givenByProvider: z.boolean(),
  /** How many times in a row the duration was guessed. */
  repeats: z.number(),
  /** `credentialMarkOf` the refused credential. Undefined for other reasons. */
  credentialMark: z.string().optional(),
  /** The exhausted quota window, if the provider named one. */
  window: z.string().optional(),
  /** The time from which one request may probe before the end. Undefined: not before the end. */
  probeFromMs: z.number().optional(),
  /** The single request that probes whether the cooldown is over. */
  probe: probeSchema.optional(),
});

const windowSchema = z.object({
  name: z.string(),
  models: z.string(),
  usedFraction: z.number(),
  resetsAtMs: z.number().optional(),
  lengthSeconds: z.number(),
  seenAtMs: z.number(),
});

const problemSchema = z.object({
  kind: z.literal(problems),
  sinceMs: z.number(),
  credentialId: z.string(),
});

const lastErrorSchema = z.object({
  result: z.literal(failures),
  upstreamStatus: z.number(),
  cause: z.string(),
  atMs: z.number(),
  /** How many attempts failed in a row up to this one. 0: an attempt has succeeded since. */
  inARow: z.number(),
});

export const accountHealthSchema = z.object({
  cooldowns: z.array(cooldownSchema).readonly(),
  /** The last report of each quota. */
  windows: z.array(windowSchema).readonly(),
  /** Moving average of failed attempts, 0 to 1, as of `errorsAtMs`; it decays over time. */
  errorAverage: z.number(),
  errorsAtMs: z.number(),
  /**
   * Why the provider refuses the account. It ends when the refused credential is replaced, or by an
   * operator.
   */
  problem: problemSchema.optional(),
  /** The last attempt that failed for another reason than a limit, for operators. */
  lastError: lastErrorSchema.optional(),
  /** When an operator last ended all pauses: those that began before are over. */
  pausesEndedAtMs: z.number().optional(),
});

/**
 * The memory of an account's recent attempts. It is an immutable value: rules create a new one, and
 * stores keep it.
 */
export type AccountHealth = Readonly<z.infer<typeof accountHealthSchema>>;
export type LastError = Readonly<z.infer<typeof lastErrorSchema>>;
export type Problem = Readonly<z.infer<typeof problemSchema>>;
/**
 * A time during which an account, or some of its models, takes no requests. There is at most one
 * for each scope and cause.
 */
export type Cooldown = Readonly<z.infer<typeof cooldownSchema>>;
export type SeenWindow = Readonly<z.infer<typeof windowSchema>>;

/**
 * Why an account cools down. Causes are kept apart, so that a longer limit does not hide a refusal.
 * `lack`: the account lacks a model or a feature.
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
  [AttemptResult.RATE_LIMITED]: 'limit',
  [AttemptResult.UNAUTHORIZED]: 'refusal',
  [AttemptResult.SERVER_ERROR]: 'errors',
  [AttemptResult.TIMEOUT]: 'errors',
  [AttemptResult.OVERLOADED]: 'provider',
  [AttemptResult.NETWORK_ERROR]: 'provider',
  [AttemptResult.MODEL_UNAVAILABLE]: 'lack',
  [AttemptResult.FEATURE_UNAVAILABLE]: 'lack',
  // Causes no cooldown.
  [AttemptResult.REFUSED]: 'refusal',
};

/** Whether a cooldown applies to such requests. */
export function concerns({ model, feature }: Pick<Cooldown, 'model' | 'feature'>, wanted: Wanted): boolean {
  if (!holdsForModel(model, wanted.model)) return false;
  return feature === undefined || (wanted.features ?? []).some((name) => matchesAnyPattern(name, [feature]));
}

export function isRunning(cooldown: Cooldown, nowMs: number): boolean {
  return nowMs < cooldown.untilMs;
}

/** True once a guessed cooldown has elapsed and it is still unknown whether the account is back. */
export function isHalfOpen(cooldown: Cooldown, nowMs: number): boolean {
  return !cooldown.givenByProvider && !isRunning(cooldown, nowMs) && nowMs < forgottenAtMs(cooldown);
}

/**
 * True when a probe has not failed in time. Limits and provider faults are reported immediately, so
 * these are as good as over.
 */
export function hasPassedProbe(cooldown: Cooldown, nowMs: number): boolean {
  const isAnsweredAtOnce = causeOf(cooldown) === 'limit' || causeOf(cooldown) === 'provider';
  return isAnsweredAtOnce && cooldown.probe !== undefined && nowMs >= cooldown.probe.expiresAtMs;
}

/** When a problem that no person has solved is forgotten: then one request probes the account. */
export function forgottenProblemAtMs({ sinceMs }: Problem): number {
  return sinceMs + 30 * 86_400_000;
}

export function healthForgottenAtMs(health: AccountHealth): number {
  const { windows, cooldowns, errorsAtMs, problem, lastError, pausesEndedAtMs } = health;
  return Math.max(
    errorsAtMs + hourMs,
    ...cooldowns.map(forgottenAtMs),
    ...windows.map(({ resetsAtMs, seenAtMs }) => resetsAtMs ?? seenAtMs + hourMs),
    problem === undefined ? 0 : forgottenProblemAtMs(problem),
    lastError === undefined ? 0 : lastError.atMs + dayMs,
    // Until then, a replica that was cut off learns of it.
    pausesEndedAtMs === undefined ? 0 : pausesEndedAtMs + hourMs,
  );
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/**
 * When a cooldown loses its meaning: at its end if the provider named it, otherwise some time
 * later.
 */
export function forgottenAtMs(cooldown: Cooldown): number {
  if (cooldown.givenByProvider) return cooldown.untilMs;
  return cooldown.untilMs + (causeOf(cooldown) === 'provider' ? 300_000 : hourMs);
}

/**
 * Tells a refused credential from its replacement. Two characters of the hash are too few to
 * confirm a guessed secret, even a short one: one guess in 4096 matches. If a replacement matches,
 * the pause runs to its end.
 */
export function credentialMarkOf(credentialId: string): string {
  return credentialId.slice(0, 2);
}

/**
 * The health of an account that has this credential: a pause after the refusal of another one does
 * not concern it. The same object when there was none.
 */
export function withCredential(health: AccountHealth, credentialId: string): AccountHealth {
  const mark = credentialMarkOf(credentialId);
  const isOfAnother = ({ credentialMark = mark }: Cooldown) => credentialMark !== mark;
  // A problem names its credential, and is compared where it is applied.
  return health.cooldowns.some(isOfAnother) ? { ...withoutRefusals(health), problem: health.problem } : health;
}

/** The health without the refusals of its credential. The same object when there were none. */
export function withoutRefusals(health: AccountHealth): AccountHealth {
  const rest = changeCooldowns(health, (cooldown) => (causeOf(cooldown) === 'refusal' ? undefined : cooldown));
  const isRefused = rest.lastError?.result === AttemptResult.UNAUTHORIZED;
  if (rest.problem === undefined && !isRefused) return rest;
  return { ...rest, problem: undefined, lastError: isRefused ? undefined : rest.lastError };
}

/**
 * The health without the failures of its provider, and without refusals. Limits and missing
 * features stay. The same object when there were no failures.
 */
export function withoutFailures(health: AccountHealth): AccountHealth {
  const isFailure = (cooldown: Cooldown) => ['errors', 'provider'].includes(causeOf(cooldown));
  const rest = changeCooldowns(withoutRefusals(health), (each) => (isFailure(each) ? undefined : each));
  if (rest.lastError === undefined && rest.errorAverage === 0) return rest;
  return { ...rest, lastError: undefined, errorAverage: 0 };
}

/**
 * The health after an operator ended all pauses, whatever their cause, and errors with them. What
 * was reported of a used-up quota no longer counts either.
 */
export function withoutPauses({ windows }: AccountHealth, nowMs: number): AccountHealth {
  return { ...healthy, windows: windows.filter((window) => !isSpent(window)), pausesEndedAtMs: nowMs };
}

/**
 * A new access token ends the pause that followed the refusal of the previous one. The same object
 * when there was none.
 */
export function afterRenewal(
  health: AccountHealth,
  { issuedAtMs, nowMs }: { readonly issuedAtMs: number; readonly nowMs: number },
): AccountHealth {
  return changeCooldowns(health, (cooldown) => {
    const isEnding = causeOf(cooldown) === 'refusal' && cooldown.sinceMs <= issuedAtMs && cooldown.untilMs > nowMs;
    return isEnding ? { ...cooldown, untilMs: nowMs } : cooldown;
  });
}

/** Undefined removes a cooldown. The same object when nothing changed. */
export function changeCooldowns(
  health: AccountHealth,
  change: (cooldown: Cooldown) => Cooldown | undefined,
): AccountHealth {
  const cooldowns = health.cooldowns.map(change);
  if (cooldowns.every((cooldown, index) => cooldown === health.cooldowns[index])) return health;
  return { ...health, cooldowns: cooldowns.filter((cooldown) => cooldown !== undefined) };
}

/**
 * Merges two stores' health of one account: for each scope and cause, the cooldown that ends later,
 * unless an operator has ended it; for each quota, the latest report.
 */
export function mergeHealth(first: AccountHealth, second: AccountHealth): AccountHealth {
  const endedAtMs = Math.max(first.pausesEndedAtMs ?? 0, second.pausesEndedAtMs ?? 0);
  const [one, other] = [since(first, endedAtMs), since(second, endedAtMs)];
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
  const lastError = (one.lastError?.atMs ?? 0) >= (other.lastError?.atMs ?? 0) ? one.lastError : other.lastError;
  return { cooldowns, windows, errorAverage, errorsAtMs, problem, lastError, pausesEndedAtMs: endedAtMs || undefined };
}

/** Without what began before an operator ended it. */
function since(health: AccountHealth, endedAtMs: number): AccountHealth {
  if (endedAtMs === 0 || health.pausesEndedAtMs === endedAtMs) return health;
  const { windows, problem, lastError } = health;
  return {
    ...health,
    cooldowns: health.cooldowns.filter(({ sinceMs }) => sinceMs > endedAtMs),
    windows: windows.filter((window) => window.seenAtMs > endedAtMs || !isSpent(window)),
    problem: problem !== undefined && problem.sinceMs > endedAtMs ? problem : undefined,
    lastError: lastError !== undefined && lastError.atMs > endedAtMs ? lastError : undefined,
  };
}

/** For each kind, the item with the highest value; the first of equals. */
function mergeBy<T>(items: readonly T[], kindOf: (item: T) => string, worthOf: (item: T) => number): readonly T[] {
  const better = (one: T, other: T) => (worthOf(other) > worthOf(one) ? other : one);
  return [...Map.groupBy(items, kindOf).values()].map((group) => group.reduce(better));
}
