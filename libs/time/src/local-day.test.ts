import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addLocalDays, endOfLocalDayMs, isLocalDay, localDayOf, startOfLocalDayMs } from './time.ts';

const at = (text: string) => Date.parse(text);

describe('the local day', () => {
  it('is a day of the calendar', () => {
    expect(['2026-11-20', '2024-02-29'].map(isLocalDay)).toEqual([true, true]);
    const others = ['', '2026-11-31', '2026-02-29', '2026-13-01', '2026-1-1', '2026-11-20T00:00', '20261120'];
    expect(others.filter(isLocalDay)).toEqual([]);
  });

  it('changes at midnight in Amsterdam, in winter and in summer', () => {
    expect(localDayOf(at('2026-11-20T22:59:59.999Z'))).toBe('2026-11-20');
    expect(localDayOf(at('2026-11-20T23:00:00.000Z'))).toBe('2026-11-21');
    expect(localDayOf(at('2026-07-01T21:59:59.999Z'))).toBe('2026-07-01');
    expect(localDayOf(at('2026-07-01T22:00:00.000Z'))).toBe('2026-07-02');
  });

  it('is 23 hours long when summer time begins and 25 when it ends', () => {
    expect(endOfLocalDayMs('2026-03-29') - startOfLocalDayMs('2026-03-29')).toBe(23 * 3_600_000);
    expect(endOfLocalDayMs('2026-10-25') - startOfLocalDayMs('2026-10-25')).toBe(25 * 3_600_000);
  });

  it('counts days across a clock change', () => {
    expect(addLocalDays('2026-10-28', -6)).toBe('2026-10-22');
    expect(new Date(startOfLocalDayMs('2026-10-22')).toISOString()).toBe('2026-10-21T22:00:00.000Z');
  });

  it('counts the same for days that were asked of before', () => {
    const anyDay = fc.integer({ min: 0, max: 3_000 }).map((days) => addLocalDays('2024-01-01', days));
    fc.assert(
      fc.property(anyDay, fc.integer({ min: -9, max: 9 }), (day, days) => {
        const expected = new Date(Date.parse(day) + days * 86_400_000).toISOString().slice(0, 10);
        expect(addLocalDays(day, days)).toBe(expected);
        expect(addLocalDays(day, days)).toBe(expected);
        expect(localDayOf(startOfLocalDayMs(day))).toBe(day);
        expect(localDayOf(startOfLocalDayMs(day) - 1)).toBe(addLocalDays(day, -1));
      }),
    );
  });

  it('holds every instant between its start and its end', () => {
    fc.assert(
      fc.property(fc.integer({ min: at('2024-01-01'), max: at('2030-12-31') }), (epochMs) => {
        const day = localDayOf(epochMs);
        expect(startOfLocalDayMs(day)).toBeLessThanOrEqual(epochMs);
        expect(endOfLocalDayMs(day)).toBeGreaterThan(epochMs);
      }),
    );
  });
});
