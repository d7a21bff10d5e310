import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyNamed, type LimitedKey, nameOf, settledCounters } from './limited-key.ts';

const prefixes = ['\u00002:ab', 'a\u00002:bc'];
const text = fc.oneof(fc.string(), fc.constantFrom('', '\0', '1:', ...prefixes, 'key', 'more than ten letters'));

describe('the name of a key', () => {
  it('belongs to it alone, in its group or without one', () => {
    // A key without a group is one that a caller chose: no NUL begins it.
    const own = text.filter((key) => !key.startsWith('\0'));
    const keys = fc.oneof(fc.record({ key: own }), fc.record({ key: text, groupKey: text }));
    fc.assert(
      fc.property(keys, (key: LimitedKey) => {
        expect(keyNamed(nameOf(key))).toEqual(key);
      }),
    );
  });
});

describe('the counters that a settled request changes', () => {
  const localDay = '2026-11-20';
  const budget = { amountMicros: 100, period: BudgetPeriod.MONTH };
  const namesOf = (terms: Omit<Parameters<typeof settledCounters>[0], 'localDay'>) =>
    settledCounters({ ...terms, localDay }).map(({ key, groupKey, span }) => [key, groupKey, span.name]);

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
