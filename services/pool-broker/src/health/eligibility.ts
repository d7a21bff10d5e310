import type { PoolSettings } from '@gateway/config';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { type Account, servesModel } from '../accounts/account.ts';
import type { Attempt, Lack, QuotaWindow, Wanted } from '../accounts/attempt.ts';
import { holdsForModel, isLack } from '../accounts/attempt.ts';
import type { AccountHealth, Cooldown, Problem, SeenWindow } from './account-health.ts';
import { causeOf, concerns, forgottenProblemAtMs, hasPassedProbe, isHalfOpen, isRunning } from './account-health.ts';

export interface AccountView {
  readonly account: Account;
  readonly health: AccountHealth;
  readonly inFlight: number;
}

export interface Eligibility {
  /** Why the account can't take the request now. */
  readonly skipReason?: SkipReason;
  /** The request would probe whether a cooldown is over, and must be the only one to do so. */
  readonly probe?: boolean;
  /** Set if a request may probe the account before its cooldown ends. */
  readonly early?: EarlyProbe;
  /**
   * True if the only reason is that the account lacks what the request asks for. If all accounts
   * lack it, one is asked anyway.
   */
  readonly lacksOnly?: boolean;
}

/** Why an account can't take a request. */
export type SkipReason = {
  /** When it can take the request, if only limits prevent it. */
  readonly retryAtMs?: number | undefined;
  /** When a request may probe it, if failures prevent it. */
  readonly probeAtMs?: number | undefined;
  /**
   * When a request may probe it, if its provider refuses it. Until then it can't serve the request.
   */
  readonly refusedUntilMs?: number | undefined;
  /** What it lacks of the request, whatever else prevents it. */
  readonly lack?: Lack | undefined;
} & (
  | { readonly kind: 'disabled'; readonly note: string }
  | { readonly kind: 'draining' | 'model_not_served' | 'busy' | 'share_used_up' }
  | { readonly kind: 'cooling' | 'probing'; readonly cooldown: Cooldown }
  | { readonly kind: 'pool_paused'; readonly cooldown: Cooldown; readonly untilMs: number }
  | { readonly kind: 'tried'; readonly result: AttemptResult }
);

/**
 * `retryAtMs` of a busy account: no time is known, because a place may become free at any moment.
 */
export const anyTime = Number.NEGATIVE_INFINITY;

/** The circumstances of a request that decide which accounts are eligible. */
export interface SelectionTerms {
  readonly nowMs: number;
  readonly rules: PoolSettings;
  readonly attempts?: readonly Attempt[];
  /** Accounts whose last free place another request took in the meantime. */
  readonly overtakenIds?: readonly string[];
}

export function eligibilityOf(
  { account, health, inFlight }: AccountView,
  wanted: Wanted,
  { nowMs, rules, attempts = [], overtakenIds = [] }: SelectionTerms,
): Eligibility {
  const { model } = wanted;
  if (account.state === 'disabled') return { skipReason: { kind: 'disabled', note: account.note } };
  if (account.state === 'draining') return { skipReason: { kind: 'draining' } };
  if (model !== '' && !servesModel(account, model)) return { skipReason: { kind: 'model_not_served' } };
  const tried = attempts.findLast((attempt) => attempt.accountId === account.id && attempt.model === model);
  const isBusy = inFlight >= account.maxConcurrency || overtakenIds.includes(account.id);
  const availability = availabilityOf(health, wanted, nowMs);
  if (availability.kind === 'cooling') {
    const { cooldown, limitOnly, early, earlyAtMs, lack, lackOnly } = availability;
    // After a guessed cooldown a single request probes first, and its result takes a while.
    const backAtMs = cooldown.untilMs + (cooldown.givenByProvider ? 0 : rules.limitProbeQuietMs);
    const probe = isRefused(health, wanted, nowMs) ? { refusedUntilMs: earlyAtMs } : { probeAtMs: earlyAtMs };
    const back = limitOnly ? { retryAtMs: backAtMs } : probe;
    const skipReason: SkipReason = { kind: 'cooling', cooldown, lack, ...back };
    if (isBusy || tried !== undefined) return { skipReason };
    return early === 'not_yet' ? { skipReason, lacksOnly: lackOnly } : { skipReason, early, probe: true };
  }
  if (availability.kind === 'probing') {
    const { cooldown, limitOnly, freeAtMs } = availability;
    const lack = isLack(cooldown.reason) ? cooldown.reason : undefined;
    const probe = causeOf(cooldown) === 'refusal' ? { refusedUntilMs: freeAtMs } : { probeAtMs: freeAtMs };
    const back = limitOnly ? { retryAtMs: freeAtMs } : probe;
    const skipReason: SkipReason = { kind: 'probing', cooldown, lack, ...back };
    return { skipReason, lacksOnly: lack !== undefined && !isBusy && tried === undefined };
  }
  if (tried !== undefined) {
    const { result } = tried.report;
    // Its cooldown has ended already, so a retry can succeed now.
    const isOfRefusal = result === AttemptResult.UNAUTHORIZED || result === AttemptResult.REFUSED;
    const probe = isOfRefusal ? { refusedUntilMs: nowMs } : { probeAtMs: nowMs };
    const back = result === AttemptResult.RATE_LIMITED ? { retryAtMs: nowMs } : probe;
    return { skipReason: { kind: 'tried', result, lack: isLack(result) ? result : undefined, ...back } };
  }
  if (isBusy) return { skipReason: { kind: 'busy', retryAtMs: anyTime } };
  return { probe: availability.kind === 'probe_due' };
}

function isRefused({ cooldowns }: AccountHealth, wanted: Wanted, nowMs: number): boolean {
  return cooldowns.some(
    (cooldown) => causeOf(cooldown) === 'refusal' && concerns(cooldown, wanted) && isRunning(cooldown, nowMs),
  );
}

/**
 * The states of an account as a whole, for operators: an account that is merely busy is available.
 */
export const accountStates = ['available', 'cooling', 'probing', 'disabled', 'draining'] as const;
export type AccountStateName = (typeof accountStates)[number];

const asAWhole: Wanted = { model: '' };

/** Cooldowns of single models are ignored. */
export function stateOf(view: AccountView, asked: Pick<SelectionTerms, 'nowMs' | 'rules'>): AccountStateName {
  const { skipReason } = eligibilityOf(view, asAWhole, asked);
  return accountStates.find((state) => state === skipReason?.kind) ?? 'available';
}

/**
 * The account with its effective state: disabled, with the reason, when its provider refuses its
 * credential.
 */
export function withProblemApplied(account: Account, { problem }: AccountHealth, nowMs: number): Account {
  if (problem === undefined || problem.credentialId !== account.credentialId) return account;
  if (nowMs >= forgottenProblemAtMs(problem)) return account;
  return { ...account, state: 'disabled', note: problemTexts[problem.kind] };
}

const problemTexts: Readonly<Record<Problem['kind'], string>> = {
  [AccountProblem.CREDENTIAL_REVOKED]:
    'The provider reports that the credential was revoked. Replace the credential, or enable the account if the report was wrong.',
  [AccountProblem.ACCOUNT_DISABLED]:
    'The provider reports that the account, or its organization, is disabled. Resolve this with the provider, then enable the account.',
};

export type Availability =
  | { readonly kind: 'available' }
  /**
   * `cooldown`: the one that ends last. `limitOnly`: only rate limits prevent requests; `lackOnly`:
   * only missing models or features do.
   */
  | {
      readonly kind: 'cooling';
      readonly cooldown: Cooldown;
      readonly limitOnly: boolean;
      readonly lack: Lack | undefined;
      readonly lackOnly: boolean;
      readonly early: EarlyProbe | 'not_yet';
      /** When a request may probe at the earliest. */
      readonly earlyAtMs: number;
    }
  /** A guessed cooldown has elapsed: one request may probe. */
  | { readonly kind: 'probe_due' }
  /** The probe is in flight; after `freeAtMs` other requests no longer need to wait for it. */
  | { readonly kind: 'probing'; readonly cooldown: Cooldown; readonly freeAtMs: number; readonly limitOnly: boolean };

/** Whether a request may probe a cooldown early: `last_resort` if no other account can serve it. */
export type EarlyProbe = 'due' | 'last_resort';

type Cooling = Pick<AccountHealth, 'cooldowns'>;

export function availabilityOf({ cooldowns }: Cooling, wanted: Wanted, nowMs: number): Availability {
  if (cooldowns.length === 0) return { kind: 'available' };
  const concerning = cooldowns.filter((cooldown) => concerns(cooldown, wanted));
  const running = concerning.filter((cooldown) => isRunning(cooldown, nowMs));
  const [last] = running.toSorted((one, other) => other.untilMs - one.untilMs);
  if (last !== undefined) {
    const lacks = running.map(({ reason }) => reason).filter(isLack);
    const [lack] = lacks;
    const keptBy = { limitOnly: running.every(isLimit), lack, lackOnly: lacks.length === running.length };
    const earlyAtMs = Math.max(...running.map(({ probeFromMs, untilMs }) => probeFromMs ?? untilMs));
    return { kind: 'cooling', cooldown: last, ...keptBy, early: earlyProbeOf(running, nowMs), earlyAtMs };
  }
  const halfOpen = concerning.filter((cooldown) => isHalfOpen(cooldown, nowMs) && !hasPassedProbe(cooldown, nowMs));
  for (const cooldown of halfOpen) {
    const freeAtMs = cooldown.probe?.expiresAtMs ?? 0;
    if (nowMs < freeAtMs) return { kind: 'probing', cooldown, freeAtMs, limitOnly: halfOpen.every(isLimit) };
  }
  return { kind: halfOpen.length === 0 ? 'available' : 'probe_due' };
}

function earlyProbeOf(running: readonly Cooldown[], nowMs: number): EarlyProbe | 'not_yet' {
  const isDue = running.every(({ probeFromMs }) => probeFromMs !== undefined && nowMs >= probeFromMs);
  if (!isDue) return 'not_yet';
  return running.every(({ givenByProvider }) => givenByProvider) ? 'due' : 'last_resort';
}

function isLimit(cooldown: Cooldown): boolean {
  return causeOf(cooldown) === 'limit';
}

/** The account's current average of failed attempts: half of it decays every minute. */
export function errorAverageAt({ errorAverage, errorsAtMs }: AccountHealth, nowMs: number): number {
  return errorAverage * 0.5 ** (Math.max(0, nowMs - errorsAtMs) / 60_000);
}

/**
 * Whether the account's last attempts were refused for a cause that is unclear, and none has
 * succeeded since. Others are preferred for a while, which doubles with each refusal. It is never
 * skipped: one client's requests may be the cause, and other requests succeed.
 */
export function isDoubted({ lastError }: AccountHealth, nowMs: number): boolean {
  if (lastError?.result !== AttemptResult.REFUSED || lastError.inARow === 0) return false;
  return nowMs - lastError.atMs < firstDoubtMs * 2 ** Math.min(lastError.inARow - 1, 4);
}

const firstDoubtMs = 30_000;

/**
 * The remainder of the tightest quota that applies to a model, 0 to 1. It is 1 when no quota is
 * known.
 */
export function headroomOf(health: AccountHealth, model: string, nowMs: number): number {
  return Math.min(1, ...windowsAt(health, nowMs, model).map(leftOf));
}

/**
 * How fast an account may be used, as a multiple of the speed that would exhaust each quota exactly
 * at its reset.
 */
export function paceOf(health: AccountHealth, model: string, nowMs: number): number {
  const windows = windowsAt(health, nowMs, model);
  if (windows.length === 0) return 1;
  const paces = windows.map((window) => leftOf(window) / timeLeftOf(window, nowMs));
  // Bounded, so that no preference leaves the rest of a pool idle.
  return Math.max(0.25, Math.min(4, ...paces));
}

type Quotas = Pick<AccountHealth, 'windows'>;

/**
 * The quotas that have not been reset since they were reported: all, or those that apply to a
 * model.
 */
export function windowsAt({ windows }: Quotas, nowMs: number, model?: string): readonly SeenWindow[] {
  return windows.filter(
    (window) => !isOver(window, nowMs) && (model === undefined || holdsForModel(window.models, model)),
  );
}

/** True once a quota has been reset. A window without an end is valid for an hour. */
export function isOver({ resetsAtMs, seenAtMs }: SeenWindow, nowMs: number): boolean {
  return nowMs >= (resetsAtMs ?? seenAtMs + 3_600_000);
}

/** The remaining share of a quota, 0 to 1. */
export function leftOf({ usedFraction }: Pick<QuotaWindow, 'usedFraction'>): number {
  return Math.min(1, Math.max(0, 1 - usedFraction));
}

function timeLeftOf({ resetsAtMs, lengthSeconds }: QuotaWindow, nowMs: number): number {
  if (resetsAtMs === undefined || lengthSeconds === 0) return 1;
  return Math.min(1, Math.max(0.001, (resetsAtMs - nowMs) / (lengthSeconds * 1_000)));
}
