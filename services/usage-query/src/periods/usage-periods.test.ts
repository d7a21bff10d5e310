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

  it.each([
    ['the day of 23 hours', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00Z', '2026-03-22T23:00:00Z'],
    ['the day after it', '2026-03-30T12:00:00Z', '2026-03-29T22:00:00Z', '2026-03-23T23:00:00Z'],
    ['the last day of a week with it', '2026-04-04T12:00:00Z', '2026-04-03T22:00:00Z', '2026-03-28T23:00:00Z'],
    ['the first day after that week', '2026-04-05T12:00:00Z', '2026-04-04T22:00:00Z', '2026-03-29T22:00:00Z'],
    ['the day of 25 hours', '2026-10-25T12:00:00Z', '2026-10-24T22:00:00Z', '2026-10-18T22:00:00Z'],
    ['the day after it', '2026-10-26T12:00:00Z', '2026-10-25T23:00:00Z', '2026-10-19T22:00:00Z'],
    ['the last day of a week with it', '2026-10-31T12:00:00Z', '2026-10-30T23:00:00Z', '2026-10-24T22:00:00Z'],
    ['the first day after that week', '2026-11-01T12:00:00Z', '2026-10-31T23:00:00Z', '2026-10-25T23:00:00Z'],
  ])('begin at local midnight on %s', (_what, now, todaySince, weekSince) => {
    const { today, lastSevenDays } = usagePeriods([], at(now));
    expect(today.sinceMs).toBe(at(todaySince));
    expect(lastSevenDays.sinceMs).toBe(at(weekSince));
  });

  it.each([
    ['23 hours', '2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'],
    ['25 hours', '2026-10-25', '2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z'],
  ])('keep a day of %s whole', (_hours, today, first, last) => {
    expect(daysOfPeriods(at(first) - 1).today).not.toBe(today);
    expect(daysOfPeriods(at(first)).today).toBe(today);
    expect(daysOfPeriods(at(last)).today).toBe(today);
    expect(daysOfPeriods(at(last) + 1).today).not.toBe(today);
    expect(usagePeriods([day(today)], at(last)).today.totals.requests).toBe(1);
    expect(usagePeriods([day(today)], at(last) + 1).today.totals.requests).toBe(0);
  });

  it('begin at what a clock in Amsterdam calls midnight, on seven dates', () => {
    const clock = new Intl.DateTimeFormat('sv-SE', {
      timeZone: 'Europe/Amsterdam',
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const instants = fc.integer({ min: at('2024-01-01T00:00:00Z'), max: at('2031-01-01T00:00:00Z') });
    fc.assert(
      fc.property(instants, (nowMs) => {
        const { today, lastSevenDays } = usagePeriods([], nowMs);
        const [date = ''] = clock.format(nowMs).split(' ');
        expect(clock.format(today.sinceMs)).toBe(`${date} 00:00:00`);
        const sixDaysBefore = new Date(at(`${date}T00:00:00Z`) - 6 * 86_400_000).toISOString().slice(0, 10);
        expect(clock.format(lastSevenDays.sinceMs)).toBe(`${sixDaysBefore} 00:00:00`);
        expect(daysOfPeriods(nowMs)).toEqual({ first: sixDaysBefore, today: date });
      }),
    );
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
          requests: fc.integer({ min: 0, max: 9 }),
          inputTokens: fc.integer({ min: 0, max: 1_000 }),
          cachedTokens: fc.integer({ min: 0, max: 100 }),
          outputTokens: fc.integer({ min: 0, max: 1_000 }),
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
