import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemoryStore, openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const today = '2026-11-20';
const maxPendingIds = 4;

describe.each([
  { name: 'memory', open: openMemoryStore },
  { name: 'Redis', open: openRedisStore },
])('a limit store in $name', ({ open }) => {
  let opened: StoreUnderTest;
  beforeEach(async () => {
    opened = await open(noonMs, { maxPendingIds });
  });
  afterEach(() => opened[Symbol.asyncDispose]());

  const admit = (requestId: string, requestsPerMinute = 3) =>
    opened.store.admit({
      key: opened.key,
      requestId,
      limits: { requestsPerMinute, tokensPerDay: undefined },
      costKind: 'request_and_tokens',
      hasLedger: false,
    });
  const record = (...admissions: readonly (readonly [string, number])[]) =>
    opened.store.recordAdmissions(
      opened.key,
      admissions.map(([requestId, ageMs]) => ({ requestId, ageMs })),
    );

  describe('whose clock was set back by more than a minute', () => {
    beforeEach(async () => {
      await admit('a');
      await admit('b');
      opened.time.advanceMs(-3_600_000);
    });

    it('counts what lies ahead as made now, so that no slot is held for longer than a minute', async () => {
      expect(await admit('c')).toMatchObject({
        kind: 'admitted',
        status: { requests: { remaining: 0, emptyAtMs: noonMs - 3_540_000, nextSlotAtMs: noonMs - 3_540_000 } },
      });
      expect(await admit('d')).toMatchObject({ kind: 'refused', refusal: { retryAtMs: noonMs - 3_540_000 } });
      opened.time.advanceMs(60_000);
      expect(await admit('e')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 2 } } });
    });

    it('still knows a repeated request', async () => {
      expect(await admit('a')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 1 } } });
    });
  });

  describe('that is given requests which were admitted elsewhere', () => {
    it('counts them from when they were made, each once', async () => {
      await admit('a');
      opened.time.advanceMs(10_000);
      await record(['b', 30_000], ['c', 0], ['a', 5_000]);
      expect(await admit('d')).toMatchObject({ kind: 'refused', refusal: { retryAtMs: noonMs + 40_000 } });
      opened.time.advanceMs(30_000);
      expect(await admit('d')).toMatchObject({ status: { requests: { remaining: 0, nextSlotAtMs: noonMs + 60_000 } } });
      expect(await admit('c')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 0 } } });
    });

    it('takes no note of those that are a minute old', async () => {
      await record(['a', 60_000], ['b', 59_999]);
      expect(await admit('c')).toMatchObject({ status: { requests: { remaining: 1 } } });
      opened.time.advanceMs(1);
      expect(await admit('d')).toMatchObject({ status: { requests: { remaining: 1 } } });
    });

    it('may hold more than the limit, and waits until enough have left', async () => {
      await record(['a', 50_000], ['b', 40_000], ['c', 30_000], ['d', 20_000]);
      expect(await admit('e')).toMatchObject({ kind: 'refused', refusal: { retryAtMs: noonMs + 20_000 } });
    });
  });

  describe('with more settled requests than it keeps the ids of', () => {
    const settle = (requestId: string, tokens: number) =>
      opened.store.settle({ key: opened.key, requestId, localDay: today, tokens, hasLedger: true });
    const reload = async (totalTokens: number, includedIds: readonly string[]) => {
      const { key, store } = opened;
      const pendingIds = await store.pendingIds(key, today, 0);
      const missingIds = (pendingIds ?? []).filter((id) => !includedIds.includes(id));
      const { usedTokensAfter } = await store.reloadDay(key, today, { totalTokens, includedIds, missingIds });
      return { pendingIds: pendingIds?.toSorted(), usedTokens: usedTokensAfter };
    };

    it('counts all of them, each once, and the ledger’s total again when it has caught up', async () => {
      await reload(0, []);
      for (const n of [1, 2, 3, 4, 5, 6]) await settle(`request-${n}`, 10 ** n);
      expect(await settle('request-6', 10 ** 6)).toMatchObject({ usedTokens: 1_111_110 });
      const pendingIds = ['request-1', 'request-2', 'request-3', 'request-4'];
      expect(await reload(0, [])).toEqual({ pendingIds, usedTokens: 1_111_110 });
      expect(await reload(10, ['request-1'])).toMatchObject({ usedTokens: 1_111_110 });
      expect(await reload(1_111_110, ['request-2', 'request-3', 'request-4'])).toMatchObject({
        usedTokens: 1_111_110,
      });
      await settle('request-7', 7);
      expect(await reload(1_111_110, [])).toEqual({ pendingIds: ['request-7'], usedTokens: 1_111_117 });
    });
  });

  it('stands still at the largest exact number instead of failing', async () => {
    const { key, store } = opened;
    const tokens = Number.MAX_SAFE_INTEGER;
    for (const requestId of ['a', 'b', 'c', 'd']) {
      const { usedTokens } = await store.settle({ key, requestId, localDay: today, tokens, hasLedger: false });
      expect(usedTokens / Number.MAX_SAFE_INTEGER).toBeCloseTo(1);
    }
  });
});
