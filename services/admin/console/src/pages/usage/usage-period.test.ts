import { describe, expect, it } from 'vitest';
import { dayLabel, daysOf, noonOf, periodProblem, periodsOf } from './usage-period.ts';

describe('a period of local days', () => {
  it('has both its ends, across months and the end of summer time', () => {
    expect(daysOf({ firstDay: '2026-10-24', lastDay: '2026-10-26' })).toEqual([
      '2026-10-24',
      '2026-10-25',
      '2026-10-26',
    ]);
    expect(daysOf({ firstDay: '2026-02-27', lastDay: '2026-03-01' })).toHaveLength(3);
  });

  it('can be named', () => {
    const periods = periodsOf('2026-03-05');
    expect(periods['7d']).toMatchObject({ firstDay: '2026-02-27', lastDay: '2026-03-05' });
    expect(periods.month).toMatchObject({ firstDay: '2026-03-01' });
    expect(periods['month-before']).toMatchObject({ firstDay: '2026-02-01', lastDay: '2026-02-28' });
  });

  it.each([
    ['', '2026-01-01', /both days/],
    ['2026-01-02', '2026-01-01', /not be after/],
    ['2000-01-01', '2026-01-01', /ten years/],
    ['2026-01-01', '2026-01-01', undefined],
  ])('from %j to %j is refused with %s', (firstDay, lastDay, problem) => {
    const found = periodProblem({ firstDay, lastDay });
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toMatch(problem);
  });

  it('places a day at its noon, so that no zone moves it', () => {
    expect(noonOf('1970-01-02')).toBe(86_400 + 43_200);
    expect(dayLabel(noonOf('2026-11-20'))).toBe('20 Nov');
  });
});
