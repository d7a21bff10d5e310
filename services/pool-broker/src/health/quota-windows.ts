import { holdsForModel, type QuotaWindow } from '../accounts/attempt.ts';
import type { AccountHealth, SeenWindow } from './account-health.ts';

/** The health with the latest word on its quotas. The same value as long as nothing has changed by much. */
export function withWindows(health: AccountHealth, windows: readonly QuotaWindow[], nowMs: number): AccountHealth {
  if (windows.length === 0) return health;
  const lasting = windows.filter(({ resetsAtMs }) => resetsAtMs === undefined || resetsAtMs - nowMs >= shortestMs);
  if (lasting.every((window) => isKnown(window, health.windows, nowMs))) return health;
  const others = health.windows.filter(
    (seen) => !isOver(seen, nowMs) && !lasting.some((window) => isSameWindow(window, seen)),
  );
  const told = lasting.map((window) => ({ ...window, seenAtMs: nowMs }));
  return { ...health, windows: [...others, ...told].slice(-maxWindows) };
}

/** The quotas that have not begun anew since they were told of. */
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

/** A window that is over so soon says nothing of the next choice. */
const shortestMs = 5_000;
/** A window without an end is not believed for longer. */
const endlessForMs = 3_600_000;
const maxWindows = 32;
// Answers come by the hundred a second, and each tells a little more: the store need not keep every one.
const smallestChange = 0.01;
const smallestShiftMs = 5_000;
const refreshMs = 60_000;

function isKnown(window: QuotaWindow, seen: readonly SeenWindow[], nowMs: number): boolean {
  const known = seen.find((other) => isSameWindow(other, window));
  if (known === undefined || nowMs - known.seenAtMs >= refreshMs) return false;
  const crossesEnd = known.usedFraction >= 1 !== window.usedFraction >= 1;
  const changed = Math.abs(known.usedFraction - window.usedFraction) >= smallestChange;
  const shiftMs = Math.abs((known.resetsAtMs ?? 0) - (window.resetsAtMs ?? 0));
  return !crossesEnd && !changed && shiftMs < smallestShiftMs;
}

function holdsNow(window: SeenWindow, model: string, nowMs: number): boolean {
  return !isOver(window, nowMs) && holdsForModel(window.models, model);
}

function isOver({ resetsAtMs, seenAtMs }: SeenWindow, nowMs: number): boolean {
  return nowMs >= (resetsAtMs ?? seenAtMs + endlessForMs);
}

function isSameWindow(one: QuotaWindow, other: QuotaWindow): boolean {
  return one.name === other.name && one.models === other.models;
}

function leftOf({ usedFraction }: QuotaWindow): number {
  return Math.min(1, Math.max(0, 1 - usedFraction));
}

/** The share of a window's time that is left; all of it when that is not known. */
function timeLeftOf({ resetsAtMs, lengthMs }: QuotaWindow, nowMs: number): number {
  if (resetsAtMs === undefined || lengthMs === undefined || lengthMs <= 0) return 1;
  return Math.min(1, Math.max(0.001, (resetsAtMs - nowMs) / lengthMs));
}
