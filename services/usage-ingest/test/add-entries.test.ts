import { keyColumns, summedColumns } from '@gateway/database';
import { testDatabases } from '@gateway/database/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type DailySum, dailySums, type LedgerEntry } from '../src/recording/ledger-entry.ts';
import { UsageLedger } from '../src/store/usage-ledger.ts';

const columns: (keyof DailySum)[] = [...keyColumns, ...summedColumns];

const tokens = fc.constantFrom(0, 0, 1, 7, 1_000_000_000_000, 2 ** 40);

/** Arbitrary entries, in batches of any size; some of them repeat. */
const entries: fc.Arbitrary<LedgerEntry> = fc.record({
  request_id: fc.integer({ min: 0, max: 400 }).map((id) => `request-${id}`),
  token_id: fc.constantFrom('token-1', 'token-2', 'Ünï "quoted" \\ token'),
  admitted_at_ms: fc.constant(Date.parse('2026-11-20T10:00:00Z')),
  local_day: fc.constant('2026-11-20'),
  endpoint: fc.constant('/v1/messages'),
  provider: fc.constantFrom('', 'provider_a', 'provider_b'),
  model: fc.constantFrom('', 'model-1', "model'2"),
  input_tokens: tokens,
  cached_tokens: tokens,
  output_tokens: tokens,
  reasoning_tokens: tokens,
  estimated: fc.constantFrom(0, 1),
  outcome: fc.constantFrom('completed', 'aborted', 'failed', 'lost', 'given_up'),
  account_id: fc.constantFrom('', 'pool/a', "pool/b'2"),
  group_id: fc.constantFrom('', 'group-1', 'group-2'),
  cache_write_5m_tokens: tokens,
  cache_write_1h_tokens: tokens,
  cost_micros: fc.option(tokens),
  parts: fc.option(fc.constant('[]')),
  unpriced_tokens: tokens,
  unpriced_calls: tokens,
});

describe.each(testDatabases)('adding entries in $name', ({ open }) => {
  it('keeps each as it came first, ends before estimates, and sums up exactly these', async () => {
    await using opened = await open();
    const { database } = opened;
    const ledger = new UsageLedger(database);
    const batches = fc.array(fc.array(entries, { size: 'max', maxLength: 200 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(batches, async (given) => {
        await database.deleteFrom('usage_events').execute();
        await database.deleteFrom('usage_daily').execute();
        const kept = new Map<string, LedgerEntry>();
        for (const batch of given) {
          const before = kept.size;
          for (const entry of batch) if (!kept.has(entry.request_id)) kept.set(entry.request_id, entry);
          const first = [...kept.values()].slice(before);
          for (const entry of batch) {
            if (entry.estimated === 0 && kept.get(entry.request_id)?.estimated === 1) kept.set(entry.request_id, entry);
          }
          const { fresh, tooOld } = await ledger.add(batch);
          expect(fresh).toEqual(new Set(first));
          expect(tooOld).toEqual(new Set());
        }
        const stored = await database.selectFrom('usage_events').selectAll().execute();
        const inOrder = (rows: readonly LedgerEntry[]) =>
          rows.toSorted((a, b) => (a.request_id < b.request_id ? -1 : 1));
        expect(inOrder(stored)).toEqual(inOrder([...kept.values()]));
        const sums = await database.selectFrom('usage_daily').selectAll().execute();
        const texts = (rows: readonly DailySum[]) => rows.map((row) => JSON.stringify(row, columns)).sort();
        // Where an estimate was all that there was, zeros are left.
        const counted = sums.filter((sum) => summedColumns.some((column) => sum[column] !== 0));
        expect(texts(counted)).toEqual(texts(dailySums([...kept.values()])));
      }),
      { numRuns: 20 },
    );
  });
});
