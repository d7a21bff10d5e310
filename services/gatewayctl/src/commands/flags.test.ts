import { expect, it } from 'vitest';
import { comingMoment, daysBack, durationMs, localDay, pastMoment, periodOf, wholeNumber } from './flags.ts';

const nowMs = Date.parse('2026-11-20T23:30:00Z');

it('days have names, and are those of Europe/Amsterdam', () => {
  expect(localDay('today', nowMs)).toBe('2026-11-21');
  expect(localDay('yesterday', nowMs)).toBe('2026-11-20');
  expect(localDay('2026-02-28', nowMs)).toBe('2026-02-28');
  for (const wrong of ['2026-02-30', '20-11-2026', 'tomorrow'])
    expect(() => localDay(wrong)).toThrow(/such as 2026-11-20/);
});

it('a period is the last seven days unless something else is said', () => {
  expect(periodOf({}, nowMs)).toEqual({ firstDay: '2026-11-15', lastDay: '2026-11-21' });
  expect(periodOf({ since: 1 }, nowMs)).toEqual({ firstDay: '2026-11-21', lastDay: '2026-11-21' });
  expect(periodOf({ since: 30 }, nowMs)).toEqual({ firstDay: '2026-10-23', lastDay: '2026-11-21' });
  expect(periodOf({ from: '2026-11-01' }, nowMs)).toEqual({ firstDay: '2026-11-01', lastDay: '2026-11-21' });
  expect(periodOf({ to: '2026-11-01' }, nowMs)).toEqual({ firstDay: '2026-11-01', lastDay: '2026-11-01' });
  expect(() => periodOf({ from: '2026-11-02', to: '2026-11-01' }, nowMs)).toThrow(/--to is before --from/);
  expect(() => periodOf({ since: 7, to: '2026-11-01' }, nowMs)).toThrow(/either --since/);
});

it('durations, days and numbers are refused with a valid example', () => {
  expect(durationMs('90s')).toBe(90_000);
  expect(daysBack('30d')).toBe(30);
  for (const wrong of ['', '7', '1y', '-1d', '1.5h']) expect(() => durationMs(wrong)).toThrow(/such as 90s/);
  for (const wrong of ['0d', '7', '1h']) expect(() => daysBack(wrong)).toThrow(/such as 7d/);
  for (const wrong of ['', '-1', '11', '1.5', 'x']) expect(() => wholeNumber(0, 10)(wrong)).toThrow('from 0 to 10');
});

it('moments are times, or durations from now', () => {
  expect(pastMoment('2026-11-20T09:00:00Z')).toBe(Date.parse('2026-11-20T09:00:00Z'));
  expect(pastMoment('1h')).toBeLessThanOrEqual(Date.now() - 3_600_000);
  expect(comingMoment('30d')).toBeGreaterThan(Date.now() + 29 * 86_400_000);
  // At the end of the day, at midnight in Amsterdam.
  expect(pastMoment('2026-11-20 09:00:00 UTC')).toBe(Date.parse('2026-11-20T09:00:00Z'));
  expect(comingMoment('2999-01-31')).toBe(Date.parse('2999-01-31T23:00:00Z'));
  expect(() => comingMoment('2020-01-01')).toThrow(/in the future/);
  expect(() => pastMoment('last week')).toThrow(/such as 12h/);
});
