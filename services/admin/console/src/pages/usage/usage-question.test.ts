import { describe, expect, it } from 'vitest';
import { exportLink, questionOf, usageLink } from './usage-question.ts';

const today = '2026-11-22';
const asked = (params: string) => questionOf(new URLSearchParams(params), today);

describe('a question about usage', () => {
  it('is about tokens by day of the last seven days, unless it says otherwise', () => {
    expect(asked('')).toMatchObject({
      period: '7d',
      firstDay: '2026-11-16',
      lastDay: today,
      by: 'day',
      measure: 'tokens',
      compare: false,
    });
    expect(asked('by=toString&measure=odd&period=ever')).toMatchObject({ by: 'day', measure: 'tokens', period: '7d' });
    expect(usageLink(asked(''))).toBe('/usage');
  });

  it('comes back from its address', () => {
    const question = asked('from=2026-01-01&to=2026-01-31&by=model&measure=money&compare=yes&token=t&group=g');
    expect(question).toMatchObject({
      period: '',
      firstDay: '2026-01-01',
      lastDay: '2026-01-31',
      by: 'model',
      measure: 'money',
      compare: true,
    });
    expect(asked(usageLink(question).split('?')[1] ?? '')).toEqual(question);
    expect(asked(usageLink(asked('period=month')).split('?')[1] ?? '')).toEqual(asked('period=month'));
  });

  it('can be had as a file', () => {
    expect(exportLink(asked('by=account&model=gpt-5.5'), 'csv')).toBe(
      '/export/usage?first_day=2026-11-16&last_day=2026-11-22&grouping=account&model=gpt-5.5&format=csv',
    );
    expect(exportLink(asked('by=group&group=g1'), 'ndjson')).toBe(
      '/export/usage?first_day=2026-11-16&last_day=2026-11-22&grouping=group&group_id=g1&format=ndjson',
    );
    expect(exportLink(asked(''), 'focus')).toMatch(/&format=focus$/);
  });
});
