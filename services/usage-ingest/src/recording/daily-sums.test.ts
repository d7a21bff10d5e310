import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DailySum, dailySums, type LedgerEntry } from './ledger-entry.ts';

const base: LedgerEntry = {
  request_id: 'r',
  token_id: 't',
  admitted_at_ms: 0,
  local_day: '2026-11-20',
  endpoint: '/v1/responses',
  provider: 'provider_a',
  model: 'gpt-5.5',
  input_tokens: 10,
  cached_tokens: 4,
  output_tokens: 5,
  reasoning_tokens: 1,
  estimated: 0,
  outcome: 'completed',
  account_id: '',
  group_id: '',
  cache_write_5m_tokens: 2,
  cache_write_1h_tokens: 1,
  cost_micros: null,
  parts: null,
  unpriced_tokens: 0,
  unpriced_calls: 0,
};

const entries = fc.array(
  fc.record({
    token_id: fc.constantFrom('t1', 't2'),
    local_day: fc.constantFrom('2026-11-19', '2026-11-20'),
    provider: fc.constantFrom('', 'provider_a', 'provider_b'),
    model: fc.constantFrom('m1', 'm2'),
    account_id: fc.constantFrom('', 'pool/a', 'pool/b'),
    group_id: fc.constantFrom('', 'g1', 'g2'),
    cost_micros: fc.option(fc.nat(1_000)),
    parts: fc.option(fc.constant('[]')),
    unpriced_tokens: fc.nat(1_000),
    unpriced_calls: fc.nat(9),
    input_tokens: fc.nat(1_000),
    cached_tokens: fc.nat(100),
    output_tokens: fc.nat(1_000),
    outcome: fc.constantFrom(
      'completed' as const,
      'aborted' as const,
      'failed' as const,
      'lost' as const,
      'given_up' as const,
    ),
  }),
);

describe('daily sums', () => {
  it('count a request for every answer of a provider, however it ended', () => {
    const outcomes = ['completed', 'aborted', 'failed', 'lost', 'given_up'] as const;
    const [sum] = dailySums(outcomes.map((outcome) => ({ ...base, outcome })));
    expect(sum).toMatchObject({ requests: 3, input_tokens: 50, cached_tokens: 20, output_tokens: 25 });
  });

  it('have no row for a request that no provider answered', () => {
    const none = {
      input_tokens: 0,
      cached_tokens: 0,
      cache_write_5m_tokens: 0,
      cache_write_1h_tokens: 0,
      output_tokens: 0,
    };
    const unanswered = { provider: '', model: '', ...none };
    expect(dailySums([{ ...base, ...unanswered }])).toEqual([]);
  });

  it('add up to the entries, one row for each key, in the order of keys', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const given = list.map((entry) => ({ ...base, ...entry }));
        const sums = dailySums(given);
        expect(totalOf(sums)).toEqual(totalOf(given.map(asSum)));
        for (const [field, value] of keysOfParts) {
          const entered = given.filter((entry) => entry[field] === value);
          expect(totalOf(sums.filter((sum) => sum[field] === value))).toEqual(totalOf(entered.map(asSum)));
        }
        const keys = sums.map((sum) =>
          [sum.token_id, sum.local_day, sum.provider, sum.model, sum.account_id, sum.group_id].join('\0'),
        );
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual([...keys].sort());
        expect(dailySums([...given].reverse())).toEqual(sums);
      }),
    );
  });
});

const keysOfParts = [
  ['account_id', 'pool/a'],
  ['account_id', 'pool/b'],
  ['group_id', 'g1'],
  ['group_id', 'g2'],
] as const;

const tokenFields = [
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'cache_write_5m_tokens',
  'unpriced_tokens',
  'unpriced_calls',
] as const;

type Part = Pick<DailySum, (typeof tokenFields)[number] | 'cost_micros' | 'costed_input_tokens'>;

/** An entry as part of a sum: only what has a cost, or parts without one, counts as costed. */
function asSum(entry: LedgerEntry): Part {
  const { cost_micros, parts } = entry;
  const costed =
    cost_micros === null && parts === null ? { costed_input_tokens: 0 } : { costed_input_tokens: entry.input_tokens };
  return { ...entry, cost_micros: cost_micros ?? 0, ...costed };
}

function totalOf(parts: readonly Part[]): readonly number[] {
  const fields = [...tokenFields, 'cost_micros', 'costed_input_tokens'] as const;
  return fields.map((field) => parts.reduce((sum, part) => sum + part[field], 0));
}
