import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DailyUsage, daysOfPeriods, usagePeriods } from './usage-periods.ts';

const at = (text: string) => Date.parse(text);

const day = (localDay: string, model = 'm', inputTokens = 10): DailyUsage => ({
  localDay,
  provider: 'provider_a',
  model,
  totals: { requests: 1, inputTokens, cachedTokens: 1, outputTokens: 5 },
});

describe('usage periods', () => {
  it('are today, and today with the six days before it', () => {
    const nowMs = at('2026-11-20T10:00:00Z');
    const days = ['2026-11-13', '2026-11-14', '2026-11-19', '2026-11-20', '2026-11-21'].map((text) => day(text));
    const { today, lastSevenDays } = usagePeriods(days, nowMs);
    expect(today.totals).toEqual({ requests: 1, inputTokens: 10, cachedTokens: 1, outputTokens: 5 });
    expect(lastSevenDays.totals).toEqual({ requests: 3, inputTokens: 30, cachedTokens: 3, outputTokens: 15 });
  });

  it('begin at local midnight, across a change of the clock too', () => {
    const { today, lastSevenDays } = usagePeriods([], at('2026-10-28T12:00:00Z'));
    expect(new Date(today.sinceMs).toISOString()).toBe('2026-10-27T23:00:00.000Z');
    expect(new Date(lastSevenDays.sinceMs).toISOString()).toBe('2026-10-21T22:00:00.000Z');
  });

  it('change at local midnight', () => {
    expect(daysOfPeriods(at('2026-11-20T22:59:59.999Z'))).toEqual({ first: '2026-11-14', today: '2026-11-20' });
    expect(daysOfPeriods(at('2026-11-20T23:00:00.000Z'))).toEqual({ first: '2026-11-15', today: '2026-11-21' });
  });

  it('are empty for a token that used nothing', () => {
    const { today } = usagePeriods([], at('2026-11-20T10:00:00Z'));
    expect(today.totals).toEqual({ requests: 0, inputTokens: 0, cachedTokens: 0, outputTokens: 0 });
    expect(today.byModel).toEqual([]);
  });

  it('list the largest total first, and equal ones by provider and model', () => {
    const rows = [
      day('2026-11-20', 'b', 10),
      day('2026-11-20', 'large', 99),
      day('2026-11-19', 'a', 10),
      { ...day('2026-11-20', 'a', 10), provider: 'provider_b' },
    ];
    const { lastSevenDays } = usagePeriods(rows, at('2026-11-20T10:00:00Z'));
    expect(lastSevenDays.byModel.map(({ provider, model }) => `${provider} ${model}`)).toEqual([
      'provider_a large',
      'provider_a a',
      'provider_a b',
      'provider_b a',
    ]);
  });

  it('have models that add up to their totals, whatever the order of the days', () => {
    const nowMs = at('2026-11-20T10:00:00Z');
    const days = fc.array(
      fc.record({
        localDay: fc.constantFrom('2026-11-12', '2026-11-14', '2026-11-17', '2026-11-20'),
        provider: fc.constantFrom('', 'provider_a', 'provider_b'),
        model: fc.constantFrom('m1', 'm2', 'm3'),
        totals: fc.record({
          requests: fc.nat(9),
          inputTokens: fc.nat(1_000),
          cachedTokens: fc.nat(100),
          outputTokens: fc.nat(1_000),
        }),
      }),
    );
    fc.assert(
      fc.property(days, (rows) => {
        const periods = usagePeriods(rows, nowMs);
        for (const { totals, byModel } of [periods.today, periods.lastSevenDays]) {
          for (const field of ['requests', 'inputTokens', 'cachedTokens', 'outputTokens'] as const) {
            expect(byModel.reduce((sum, usage) => sum + usage.totals[field], 0)).toBe(totals[field]);
          }
        }
        expect(usagePeriods(rows.toReversed(), nowMs)).toEqual(periods);
      }),
    );
  });
});
