import type { AccountHealth } from './account-health.ts';

/** The account's share of failed attempts as it stands now: half of it is forgotten every minute. */
export function errorAverageAt({ errorAverage, errorsAtMs }: AccountHealth, nowMs: number): number {
  return errorAverage * 0.5 ** (Math.max(0, nowMs - errorsAtMs) / halfLifeMs);
}

/** Counts one more attempt. A single failure weighs a quarter, so that it takes three in a row to pass one half. */
export function withAttemptCounted(health: AccountHealth, failed: boolean, nowMs: number): AccountHealth {
  if (!failed && health.errorAverage === 0) return health;
  const average = errorAverageAt(health, nowMs);
  if (!failed && average < negligible) return health.errorAverage === 0 ? health : { ...health, errorAverage: 0 };
  return { ...health, errorAverage: average + latestWeight * ((failed ? 1 : 0) - average), errorsAtMs: nowMs };
}

const halfLifeMs = 60_000;
const latestWeight = 0.25;
const negligible = 0.01;
