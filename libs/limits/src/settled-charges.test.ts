import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { describe, expect, it } from 'vitest';
import type { GroupedTerms } from './limited-key.ts';
import { chargesOf } from './settled-charges.ts';

describe('the counters that a settled request changes', () => {
  const localDay = '2026-11-20';
  const budget = { amountMicros: 100, period: BudgetPeriod.MONTH };
  const namesOf = (terms: GroupedTerms) =>
    chargesOf({ ...terms, requestId: 'r', localDay, tokens: 1 }).map(({ counter: { key, groupKey, span } }) => [
      key,
      groupKey,
      span.name,
    ]);

  it('are those of the limits of its key and of its group', () => {
    expect(namesOf({ key: 'k', limits: { requestsPerMinute: 1 } })).toEqual([]);
    expect(namesOf({ key: 'k', limits: { tokensPerDay: 1, budget } })).toEqual([
      ['k', undefined, 'd:2026-11-20'],
      ['k', undefined, 'b:month:2026-11-01'],
    ]);
    expect(namesOf({ key: 'k', limits: { tokensPerDay: 1 }, group: { key: 'g', limits: { budget } } })).toEqual([
      ['k', 'g', 'd:2026-11-20'],
      ['g', undefined, 'b:month:2026-11-01'],
    ]);
  });

  it('are that of its tokens in any case when the limits of its key are not known', () => {
    expect(namesOf({ key: 'k' })).toEqual([['k', undefined, 'd:2026-11-20']]);
    expect(namesOf({ key: 'k', group: { key: 'g', limits: { tokensPerDay: 1 } } })).toEqual([
      ['k', 'g', 'd:2026-11-20'],
      ['g', undefined, 'd:2026-11-20'],
    ]);
  });
});
