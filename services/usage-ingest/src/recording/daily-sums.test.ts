import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailySums, type LedgerEntry } from './ledger-entry.ts';

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
};

const entries = fc.array(
  fc.record({
    token_id: fc.constantFrom('t1', 't2'),
    local_day: fc.constantFrom('2026-11-19', '2026-11-20'),
    provider: fc.constantFrom('', 'provider_a', 'provider_b'),
    model: fc.constantFrom('m1', 'm2'),
    account_id: fc.constantFrom('', 'pool/a', 'pool/b'),
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
    const unanswered = { provider: '', model: '', input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
    expect(dailySums([{ ...base, ...unanswered }])).toEqual([]);
  });

  it('add up to the entries, one row for each key, in the order of keys', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const given = list.map((entry) => ({ ...base, ...entry }));
        const sums = dailySums(given);
        for (const field of ['input_tokens', 'cached_tokens', 'output_tokens'] as const) {
          const total = (rows: readonly Record<typeof field, number>[]) =>
            rows.reduce((sum, row) => sum + row[field], 0);
          expect(total(sums.filter(({ account_id }) => account_id === ''))).toBe(total(given));
          for (const account of ['pool/a', 'pool/b']) {
            const [summed, entered] = [sums, given].map((rows) =>
              total(rows.filter(({ account_id }) => account_id === account)),
            );
            expect(summed).toBe(entered);
          }
        }
        const keys = sums.map((sum) =>
          [sum.token_id, sum.local_day, sum.provider, sum.model, sum.account_id].join(' '),
        );
        expect(new Set(keys).size).toBe(keys.length);
        expect(keys).toEqual([...keys].sort());
        expect(dailySums([...given].reverse())).toEqual(sums);
      }),
    );
  });
});
