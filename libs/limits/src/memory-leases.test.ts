import { BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Check, KeyLimits } from './limited-key.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { budgetSpan, daySpan } from './span.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const localDay = '2026-11-20';
const budget = { amountMicros: 100, period: BudgetPeriod.DAY };
const money = { key: 'k', span: budgetSpan(BudgetPeriod.DAY, localDay) };

function setUp() {
  const time = new ManualTime(noonMs);
  onTestFinished(() => time[Symbol.dispose]());
  const announced: unknown[] = [];
  const announce = (slot: unknown) => announced.push(slot);
  const store = new MemoryLimitStore({ maxKeys: 20_000, onReturned: announce });
  const admit = (requestId: string, limits: KeyLimits, group?: Check['group']) =>
    store.admit({ key: 'k', requestId, limits, costKind: CostKind.REQUEST_AND_TOKENS, group });
  const refusedBy = async (...asked: Parameters<typeof admit>) => (await admit(...asked)).refusal?.limit;
  const reserve = async (requestId: string, costMicros: number) =>
    (await store.reserve({ key: 'k', requestId, limits: { budget }, localDay, costMicros }))?.limit;
  const settle = (requestId: string, limits: KeyLimits, more: { readonly tokens?: number; readonly ended?: boolean }) =>
    store.settle({ key: 'k', requestId, limits, localDay, tokens: 0, ...more });
  /** How many requests run for the key and for its group. */
  const running = async (group?: string) => {
    const limits = { concurrentRequests: 10 };
    const { status, groupStatus } = await admit('', limits, group === undefined ? undefined : { key: group, limits });
    return [status, groupStatus].map((each) => each?.concurrency?.running);
  };
  return { time, store, announced, admit, refusedBy, reserve, settle, running };
}

describe('a request in memory', () => {
  const rate = { requestsPerMinute: 1 };
  const lease = { concurrentRequests: 1 };
  it.each([
    ['slot of its key', rate, {}],
    ['slot of its group', { budget }, rate],
    ['lease of its key', lease, {}],
    ['lease of its group', {}, lease],
  ])('is known by the one %s when it is repeated', async (_what, ofKey, ofGroup) => {
    const { refusedBy } = setUp();
    const group = { key: 'g', limits: ofGroup };
    expect(await refusedBy('a', ofKey, group)).toBeUndefined();
    expect(await refusedBy('a', ofKey, group)).toBeUndefined();
    expect(await refusedBy('b', ofKey, group)).toBeDefined();
  });

  it('is no longer known by its slot when nothing limits the rate any more', async () => {
    const { refusedBy } = setUp();
    expect(await refusedBy('a', { ...rate, budget })).toBeUndefined();
    expect(await refusedBy('a', { budget: { ...budget, amountMicros: 0 } })).toBe(LimitName.BUDGET);
  });

  it('has a lease only where the number of requests is limited', async () => {
    const { admit, running } = setUp();
    await admit('a', {}, { key: 'g', limits: lease });
    await admit('b', lease, { key: 'other', limits: {} });
    expect([await running('g'), await running('other')]).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });

  it('keeps its lease when a part of it is charged, until it ends', async () => {
    const { admit, settle, running } = setUp();
    await admit('a', lease);
    await settle('a', lease, { tokens: 5 });
    expect(await running()).toEqual([1, undefined]);
    await settle('a', lease, { ended: true });
    expect(await running()).toEqual([0, undefined]);
  });

  it('gets back only the leases that it has, and none once it ended', async () => {
    const { store, settle, running } = setUp();
    await settle('ended', lease, { ended: true });
    const held = { key: 'k', localDay: '2026-11-20', costMicros: 0 };
    await store.renew(['ended', 'a'].map((requestId) => ({ ...held, requestId, limits: lease })));
    await store.renew([{ ...held, requestId: 'b', limits: rate }]);
    await store.renew([{ ...held, requestId: 'c', limits: lease, group: { key: 'g' } }]);
    expect([await running(), await running('g')]).toEqual([
      [1, undefined],
      [1, 0],
    ]);
  });

  it('returns its lease with its slot when it is undone', async () => {
    const { store, admit, running } = setUp();
    const limits = { ...lease, ...rate };
    await admit('a', limits, { key: 'g', limits });
    store.release({ key: 'k', requestId: 'a', group: { key: 'g' } });
    expect([await running('g'), store.admissions()]).toEqual([[0, 0], []]);
  });

  it('returns no slot where nothing limits the rate', () => {
    const { store, announced } = setUp();
    store.giveBack({ key: 'k', requestId: 'a', limits: lease, group: { key: 'g' } });
    expect([announced, store.size]).toEqual([[], 0]);
  });
});

describe('a reservation in memory', () => {
  it('stays as it is when it is asked for again', async () => {
    const { store, reserve } = setUp();
    expect([await reserve('a', 60), await reserve('a', 70), await reserve('b', 40)]).toEqual(Array(3).fill(undefined));
    expect(await reserve('c', 1)).toBe(LimitName.BUDGET);
    expect(await store.pendingIds(money)).toEqual(['a', 'b']);
  });

  it('is not made, nor refused, for a request that ended', async () => {
    const { store, reserve, settle } = setUp();
    await settle('a', { budget }, { ended: true });
    expect([await reserve('a', 10), await reserve('a', 101)]).toEqual([undefined, undefined]);
    expect(await store.pendingIds(money)).toEqual([]);
  });

  it('is looked up in the ledger only as long as one call has room for it', async () => {
    const { store } = setUp();
    const terms = { key: 'k', limits: { budget: { ...budget, amountMicros: 20_000 } }, localDay, costMicros: 1 };
    for (let n = 0; n < 9_999; n++) await store.settle({ ...terms, requestId: `r${n}`, tokens: 0, hasLedger: true });
    for (const requestId of ['a', 'b']) await store.reserve({ ...terms, requestId });
    expect((await store.pendingIds(money)).slice(-2)).toEqual(['r9998', 'a']);
  });
});

it('a settled request is remembered for two minutes, also when the ledger has it meanwhile', async () => {
  const { time, store } = setUp();
  const settle = async () =>
    (await store.settle({ key: 'k', requestId: 'a', localDay, tokens: 5, hasLedger: true })).usedTokens;
  expect(await settle()).toBe(5);
  time.advanceMs(119_999);
  await store.reload({ key: 'k', span: daySpan(localDay) }, { totalTokens: 5, includedIds: ['a'], missingIds: [] });
  expect(await settle()).toBe(5);
  time.advanceMs(1);
  expect(await settle()).toBe(10);
});
