import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromProviderMs, readRetryAfterMs, readSkewMs } from './quotas.ts';

const nowMs = 1_700_000_000_000;
const dateAt = (epochMs: number) => new Date(epochMs).toUTCString();

describe("a provider's instants", () => {
  it('are as far away here as they are there, by any clock within a day', () => {
    const skews = fc.integer({ min: -86_390_000, max: 86_390_000 });
    fc.assert(
      fc.property(skews, fc.integer({ min: 10_000, max: 600_000_000 }), (skewMs, waitMs) => {
        const providerMs = nowMs - skewMs;
        const answer = { nowMs, skewMs: readSkewMs({ date: dateAt(providerMs) }, nowMs) };
        const untilMs = fromProviderMs(providerMs + waitMs, answer) ?? Number.NaN;
        // The header is exact to the second, and a smaller difference than two is none.
        expect(Math.abs(untilMs - nowMs - waitMs)).toBeLessThanOrEqual(2_000);
        const headers = { 'retry-after': dateAt(providerMs + waitMs) };
        expect(Math.abs((readRetryAfterMs({ headers, ...answer }) ?? 0) - nowMs - waitMs)).toBeLessThanOrEqual(3_000);
      }),
    );
  });

  it.each([
    ['is missing', undefined],
    ['is no date', 'yesterday'],
    ['differs by more than a day', dateAt(nowMs - 86_402_000)],
    ['is years ahead', dateAt(nowMs + 1e11)],
    ['differs by no more than it is exact', dateAt(nowMs - 900)],
  ])("are taken by this machine's clock where the date %s", (_what, date) => {
    const headers: Record<string, string> = date === undefined ? {} : { date };
    expect(readSkewMs(headers, nowMs)).toBe(0);
  });

  it('leave durations as they are', () => {
    const skewMs = readSkewMs({ date: dateAt(nowMs - 600_000) }, nowMs);
    expect(skewMs).toBe(600_000);
    const until = (headers: Record<string, string>) => readRetryAfterMs({ headers, nowMs, skewMs });
    expect(until({ 'retry-after': '30' })).toBe(nowMs + 30_000);
    expect(until({ 'retry-after-ms': '1500' })).toBe(nowMs + 1_500);
  });
});
