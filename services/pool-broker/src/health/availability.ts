import type { Account } from '../accounts/account.ts';
import { holdsForModel, type ProblemKind, type QuotaWindow } from '../accounts/attempt.ts';
import {
  type AccountHealth,
  type Cooldown,
  causeOf,
  concernsModel,
  forgottenProblemAtMs,
  hasPassedProbe,
  isHalfOpen,
  isRunning,
  type SeenWindow,
} from './account-health.ts';

/** Whether an account can take a request for a model now. */
export type Availability =
  | { readonly kind: 'available' }
  /** `cooldown` is the one that ends last. `limitOnly`: nothing but rate limits keeps it. */
  | { readonly kind: 'cooling'; readonly cooldown: Cooldown; readonly limitOnly: boolean; readonly early: EarlyProbe }
  /** A guessed cooldown has run out: one request may find out. */
  | { readonly kind: 'probe_due'; readonly cooldown: Cooldown }
  /** That request is under way; `freeAtMs` is when others need not wait for it any more. */
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean };

/**
 * Whether one request may find out ahead of the end that a cooldown is over: `due` when the provider named a far end long
 * ago, `last_resort` when we only guess, so that it should be a request that no other account can serve.
 */
export type EarlyProbe = 'not_yet' | 'due' | 'last_resort';

/** `model` empty asks for the account as a whole: cooldowns of single models do not count. */
export function availabilityOf(health: AccountHealth, model: string, nowMs: number): Availability {
  if (health.cooldowns.length === 0) return { kind: 'available' };
  const concerning = health.cooldowns.filter((cooldown) => concernsModel(cooldown, model));
  const running = concerning.filter((cooldown) => isRunning(cooldown, nowMs));
  const last = running.toSorted((one, other) => other.untilMs - one.untilMs)[0];
  if (last !== undefined) {
    return { kind: 'cooling', cooldown: last, limitOnly: running.every(isLimit), early: earlyProbeOf(running, nowMs) };
  }

  const halfOpen = concerning.filter((cooldown) => isHalfOpen(cooldown, nowMs) && !hasPassedProbe(cooldown, nowMs));
  const probed = halfOpen.find(({ probe }) => probe !== undefined && nowMs < probe.expiresAtMs);
  if (probed?.probe !== undefined) {
    const { expiresAtMs } = probed.probe;
    return { kind: 'probing', cooldown: probed, freeAtMs: expiresAtMs, limitOnly: halfOpen.every(isLimit) };
  }
  const [due] = halfOpen;
  return due === undefined ? { kind: 'available' } : { kind: 'probe_due', cooldown: due };
}

function earlyProbeOf(running: readonly Cooldown[], nowMs: number): EarlyProbe {
  const isDue = running.every(({ probeFromMs }) => probeFromMs !== undefined && nowMs >= probeFromMs);
  if (!isDue) return 'not_yet';
  return running.every(({ givenByProvider }) => givenByProvider) ? 'due' : 'last_resort';
}

function isLimit(cooldown: Cooldown): boolean {
  return causeOf(cooldown) === 'limit';
}

/** An account as it stands now: disabled, with the reason, when its provider takes nothing of its credential any more. */
export function asInService(account: Account, { problem }: AccountHealth, nowMs: number): Account {
  if (problem === undefined || problem.credentialId !== account.credentialId) return account;
  if (nowMs >= forgottenProblemAtMs(problem)) return account;
  return { ...account, state: 'disabled', note: problemTexts[problem.kind] };
}

const problemTexts: Readonly<Record<ProblemKind, string>> = {
  credential_revoked:
    'The provider says that the credential was revoked. Give the account a new one, or enable it if that was a mistake.',
  account_disabled:
    'The provider says that the account, or its organization, is disabled. Settle it with the provider, then enable it.',
};

/** The account's share of failed attempts as it stands now: half of it is forgotten every minute. */
export function errorAverageAt({ errorAverage, errorsAtMs }: AccountHealth, nowMs: number): number {
  return errorAverage * 0.5 ** (Math.max(0, nowMs - errorsAtMs) / halfLifeMs);
}

const halfLifeMs = 60_000;

/** The quotas that have not begun anew since they were reported. */
export function windowsAt(health: AccountHealth, nowMs: number): readonly SeenWindow[] {
  return health.windows.filter((window) => !isOver(window, nowMs));
}

/** How much is left of the tightest quota that a model falls under, 0 to 1. All of it when no quota is known. */
export function headroomOf(health: AccountHealth, model: string, nowMs: number): number {
  let least = 1;
  for (const window of health.windows) {
    if (holdsNow(window, model, nowMs)) least = Math.min(least, leftOf(window));
  }
  return least;
}

/**
 * How fast an account may be used up, as a multiple of the speed that would use each quota up just when it begins anew:
 * above 1 when more is left than its time, so that it would be lost; below 1 when it would run out. 1 when nothing is known.
 */
export function paceOf(health: AccountHealth, model: string, nowMs: number): number {
  let slowest: number | undefined;
  for (const window of health.windows) {
    if (!holdsNow(window, model, nowMs)) continue;
    slowest = Math.min(slowest ?? fastestPace, leftOf(window) / timeLeftOf(window, nowMs));
  }
  return slowest === undefined ? 1 : Math.max(slowestPace, slowest);
}

// No preference is so strong that the rest of a pool lies idle.
const fastestPace = 4;
const slowestPace = 0.25;

// A window without an end is not believed for longer.
const endlessForMs = 3_600_000;
function holdsNow(window: SeenWindow, model: string, nowMs: number): boolean {
  return !isOver(window, nowMs) && holdsForModel(window.models, model);
}

/** True once a quota has begun anew. */
export function isOver({ resetsAtMs, seenAtMs }: SeenWindow, nowMs: number): boolean {
  return nowMs >= (resetsAtMs ?? seenAtMs + endlessForMs);
}

function leftOf({ usedFraction }: QuotaWindow): number {
  return Math.min(1, Math.max(0, 1 - usedFraction));
}

/** The share of a window's time that is left; all of it when that is not known. */
function timeLeftOf({ resetsAtMs, lengthMs }: QuotaWindow, nowMs: number): number {
  if (resetsAtMs === undefined || lengthMs === undefined || lengthMs <= 0) return 1;
  return Math.min(1, Math.max(0.001, (resetsAtMs - nowMs) / lengthMs));
}
