import { QuotaOutlook } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type AccountHealth, isRunning } from './account-health.ts';
import { type AccountView, leftOf, windowsAt } from './eligibility.ts';

/**
 * How long the quotas of each pool will last: first those of whole accounts, then those of each
 * family with quotas of its own.
 */
export function forecastsOf(views: readonly AccountView[], nowMs: number) {
  return [...Map.groupBy(views, ({ account }) => account.pool)].flatMap(([pool, ofPool]) => {
    const serving = ofPool.filter(isInService).map(({ health }) => health);
    const families = new Set(serving.flatMap((health) => windowsAt(health, nowMs).map(({ models }) => models)));
    families.delete('');
    return ['', ...[...families].sort()].map((models) => {
      return { pool, models, ...exhaustionOf(serving, models, nowMs) };
    });
  });
}

/**
 * When a pool will have exhausted its quotas if usage continues at its average rate since they
 * began.
 */
export type Exhaustion =
  | { readonly outlook: QuotaOutlook.UNSPECIFIED | QuotaOutlook.LASTS }
  | { readonly outlook: QuotaOutlook.ENDS; readonly endsAtMs: number; readonly window: string };

/** The data that determines whether an account is usable. */
export type Usable = Pick<AccountHealth, 'cooldowns' | 'windows'>;

/**
 * Simulates the load from one change to the next: accounts come back, and windows are reset or
 * exhausted. A pool that lasts until each window has been reset lasts forever. Accounts without
 * reported quotas are left out.
 *
 * @param models pattern of a family whose quotas apply in addition to those of whole accounts;
 *   empty for requests of no family.
 */
export function exhaustionOf(accounts: readonly Usable[], models: string, nowMs: number): Exhaustion {
  const known = accounts.map((account) => toSupply(account, models, nowMs)).filter(({ windows }) => windows.length > 0);
  if (known.length === 0) return { outlook: QuotaOutlook.UNSPECIFIED };
  const supplies = sampleOf(known, nowMs);
  const loads = loadsOf(supplies, nowMs);
  const windows = supplies.flatMap((supply) => supply.windows);
  const lastMs = nowMs + windows.reduce((longest, { lengthMs }) => Math.max(longest, lengthMs), 0);
  for (let now = nowMs, step = 0; now <= lastMs; step++) {
    if (!shareLoad(supplies, loads, now)) {
      return { outlook: QuotaOutlook.ENDS, endsAtMs: Math.round(now), window: mostSpent(windows) };
    }
    // Every change is a step until there are very many; then changes close together share a step.
    const leastMs = step * windows.length < exactLooks ? 1 : Math.max(1, (now - nowMs) / 32);
    const next = Math.max(now + leastMs, nextChangeMs(supplies, now));
    for (const window of windows) useUntil(window, now, next);
    now = next;
  }
  return { outlook: QuotaOutlook.LASTS };
}

/**
 * How many windows are examined before that: a few milliseconds of work, during which others wait.
 */
const exactLooks = 400_000;

/**
 * If there are very many accounts, a sample from most to least remaining quota represents them. The
 * result lies within a twentieth of the exact time.
 */
function sampleOf(supplies: readonly Supply[], nowMs: number): readonly Supply[] {
  if (supplies.length <= maxAccounts) return supplies;
  const sorted = supplies.toSorted((one, other) => usableOf(other, nowMs) - usableOf(one, nowMs));
  const step = sorted.length / maxAccounts;
  return Array.from({ length: maxAccounts }, (_, n) => sorted[Math.floor(n * step)]).filter((one) => one !== undefined);
}

const maxAccounts = 64;

/** The remaining quotas of one account. The estimate advances it in time. */
interface Supply {
  readonly usableFromMs: number;
  readonly windows: readonly RunningWindow[];
}

interface RunningWindow {
  readonly name: string;
  /** The remaining share of the window, 0 to 1. */
  left: number;
  resetsAtMs: number;
  readonly lengthMs: number;
  /** The share of the window used per millisecond. */
  speed: number;
}

function toSupply({ cooldowns, windows }: Usable, models: string, nowMs: number): Supply {
  // Only cooldowns of the whole account matter.
  const ends = cooldowns.flatMap((cooldown) =>
    cooldown.model === '' && isRunning(cooldown, nowMs) ? [cooldown.untilMs] : [],
  );
  const running = windowsAt({ windows }, nowMs)
    .filter((window) => window.models === '' || window.models === models)
    .flatMap((window) => {
      const { name, resetsAtMs, lengthSeconds } = window;
      return resetsAtMs === undefined || lengthSeconds === 0
        ? []
        : [{ name, left: leftOf(window), resetsAtMs, lengthMs: lengthSeconds * 1_000, speed: 0 }];
    });
  return { usableFromMs: Math.max(0, ...ends), windows: running };
}

/**
 * For each kind of window, the share used per millisecond if one account carried all the load, on
 * average so far.
 */
function loadsOf(supplies: readonly Supply[], nowMs: number): ReadonlyMap<string, number> {
  const all = supplies.flatMap(({ windows }) => windows);
  const loads = [...Map.groupBy(all, ({ name }) => name)].map(([name, ofName]) => {
    const used = ofName.reduce((sum, window) => sum + speedSoFar(window, nowMs), 0);
    // Accounts without such a window carry load too, which the others would take over.
    return [name, (used * supplies.length) / ofName.length] as const;
  });
  return new Map(loads);
}

function speedSoFar({ left, resetsAtMs, lengthMs }: RunningWindow, nowMs: number): number {
  const elapsedMs = nowMs - (resetsAtMs - lengthMs);
  // In less time a window does not show a rate.
  return elapsedMs < 60_000 ? 0 : (1 - left) / elapsedMs;
}

/**
 * Sets the rate at which windows are used: the load goes to accounts with remaining quota. False
 * when no account is usable.
 */
function shareLoad(supplies: readonly Supply[], loads: ReadonlyMap<string, number>, nowMs: number): boolean {
  let total = 0;
  for (const supply of supplies) total += usableOf(supply, nowMs);
  if (total === 0) return false;
  for (const supply of supplies) {
    const share = usableOf(supply, nowMs) / total;
    for (const window of supply.windows) window.speed = share * (loads.get(window.name) ?? 0);
  }
  return true;
}

/** 0 for an unusable account. */
function usableOf({ usableFromMs, windows }: Supply, nowMs: number): number {
  if (usableFromMs > nowMs) return 0;
  let least = 1;
  for (const { left } of windows) least = Math.min(least, left);
  return least > nothing ? least : 0;
}

function nextChangeMs(supplies: readonly Supply[], nowMs: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const { usableFromMs, windows } of supplies) {
    if (usableFromMs > nowMs) next = Math.min(next, usableFromMs);
    for (const { left, speed, resetsAtMs } of windows) {
      next = Math.min(next, resetsAtMs, speed > 0 && left > 0 ? nowMs + left / speed : resetsAtMs);
    }
  }
  return next;
}

function useUntil(window: RunningWindow, nowMs: number, untilMs: number): void {
  window.left = Math.max(0, window.left - window.speed * (untilMs - nowMs));
  if (window.resetsAtMs > untilMs) return;
  window.left = 1;
  window.resetsAtMs += window.lengthMs * Math.ceil((untilMs - window.resetsAtMs + 1) / window.lengthMs);
}

/** Rounding leaves at most this much of an exhausted window. */
const nothing = 1e-9;

/** The kind of window that is exhausted on most accounts; empty when none is. */
function mostSpent(windows: readonly RunningWindow[]): string {
  const spent = windows.filter(({ left }) => left <= nothing);
  const byName = [...Map.groupBy(spent, ({ name }) => name)].sort(([, one], [, other]) => other.length - one.length);
  return byName[0]?.[0] ?? '';
}

/** Disabled and draining accounts take no requests, whatever they have left. */
export function isInService({ account }: Pick<AccountView, 'account'>): boolean {
  return account.state === 'active';
}
