import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { causesOf, type LimitUse, thresholds } from './causes.ts';

const today = '2026-11-27';

const use = (used: number, more: Partial<LimitUse> = {}): LimitUse => ({
  ...{ kind: 'tokens_per_day', subject: 't1', name: 'ci', used, limit: 1_000_000, currency: '' },
  ...{ span: 'day', firstDay: today },
  ...more,
});
const textsOf = (uses: readonly LimitUse[]) => causesOf(uses, [], today).map(({ text }) => text);

describe('a cause of a warning', () => {
  it('is a limit of which half, 80 % or all is used, with the numbers', () => {
    expect(textsOf([use(499_999)])).toEqual([]);
    expect(causesOf([use(820_000)], [], today)).toEqual([
      {
        ...{ kind: 'tokens_per_day', subject: 't1', link: '/tokens/t1', cause: 'tokens_per_day:t1:80' },
        period: 'day 2026-11-27',
        text: 'The token ci used 82 % of its tokens for today (820\u202f000 of 1\u202f000\u202f000).',
        details: { name: 'ci', threshold: 80, percent: 82, used: 820_000, limit: 1_000_000 },
      },
    ]);
    const budget = { kind: 'budget', name: 'team a', currency: 'EUR', span: 'month', firstDay: '2026-11-01' } as const;
    const group = { kind: 'group_tokens_per_day', name: 'team a' } as const;
    expect(textsOf([use(1_500_000, budget), use(500_000, group)])).toEqual([
      'The group team a used 150 % of its budget for this month (1.50 EUR of 1.00 EUR).',
      'The group team a used 50 % of its tokens for today (500\u202f000 of 1\u202f000\u202f000).',
    ]);
  });

  it('is no limit of 0, which admits nothing on purpose', () => {
    expect(textsOf([use(0, { limit: 0 }), use(5, { limit: 0, kind: 'budget' })])).toEqual([]);
  });

  it('is an account or a pool that needs a person, once a day as long as that lasts', () => {
    const found = (kind: string, text: string) => ({ kind, subject: 'p/a', text, link: '/pools/p' });
    const findings = ['account_failing', 'account_out_of_service', 'pool_ending', 'pool_exhausted', 'usage_late'];
    const causes = (day: string, text: string) =>
      causesOf(
        [],
        findings.map((kind) => found(kind, text)),
        day,
      );
    expect(causes(today, 'x').map(({ kind, cause }) => `${kind} ${cause}`)).toEqual([
      'account account_failing:p/a',
      'account account_out_of_service:p/a',
      'pool pool_ending:p/a',
      'pool pool_exhausted:p/a',
    ]);
    const keysOf = (day: string, text: string) => causes(day, text).map(({ cause, period }) => `${cause} ${period}`);
    expect(keysOf(today, 'in 40 minutes')).toEqual(keysOf(today, 'in 20 minutes'));
    expect(keysOf(today, 'x')).not.toEqual(keysOf('2026-11-28', 'x'));
  });

  it('is reported once in a period, in rising order, and the highest of those that are reached at once', () => {
    const readings = fc.array(fc.tuple(fc.nat(3), fc.nat(700)), { minLength: 1, maxLength: 40, size: 'max' });
    fc.assert(
      fc.property(readings, fc.integer({ min: 1, max: 1_000 }), (steps, limit) => {
        const sent = new Map<string, number[]>();
        let [day, used] = [0, 0];
        for (const [daysLater, more] of steps) {
          used = daysLater === 0 ? used + more : more;
          day += daysLater;
          const firstDay = `day ${day}`;
          const reading = use(used, { limit, firstDay });
          const causes = causesOf([reading], [], firstDay);
          const reached = thresholds.filter((each) => used * 100 >= limit * each);
          expect(causes.map(({ details }) => details.threshold)).toEqual(reached.slice(0, 1));
          for (const { period, details } of causes) {
            const before = sent.get(period) ?? [];
            const threshold = Number(details.threshold);
            if (!before.includes(threshold)) sent.set(period, [...before, threshold]);
          }
        }
        for (const [, each] of sent) expect(each).toEqual(each.toSorted((one, other) => one - other));
      }),
    );
  });
});
