import { BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { ManualTime } from '@gateway/time/simulated';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryLimitStore } from './memory-limit-store.ts';
import { budgetSpan, daySpan } from './span.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');

let time: ManualTime;
beforeEach(() => {
  time = new ManualTime(noonMs);
});
afterEach(() => time[Symbol.dispose]());

const request = (key: string, requestId = 'a') => ({
  key,
  requestId,
  limits: { requestsPerMinute: 10, tokensPerDay: 100 },
  costKind: CostKind.REQUEST_AND_TOKENS,
  hasLedger: false,
});
const settlement = (key: string, requestId: string) => ({
  ...request(key, requestId),
  localDay: '2026-11-20',
  tokens: 1,
});

const counter = { key: 'key', span: daySpan('2026-11-20') };

describe('the memory limit store', () => {
  it('forgets windows after a minute and days some hours after midnight', async () => {
    const store = new MemoryLimitStore({ maxKeys: 1_000 });
    for (let n = 0; n < 100; n++) {
      await store.admit(request(`key-${n}`));
      await store.settle(settlement(`key-${n}`, 'a'));
    }
    expect(store.size).toBe(200);
    time.advanceMs(60_001);
    await store.admit({ ...request('other'), requestId: '' });
    expect(store.size).toBe(100);
    time.advanceMs(24 * 3_600_000);
    await store.admit({ ...request('other'), requestId: '' });
    expect(store.size).toBe(0);
  });

  it('names no wait of over a minute for a slot that it took, however long the decision takes', async () => {
    const perMinute = fc.record({ requestsPerMinute: fc.integer({ min: 1, max: 3 }) });
    const group = fc.option(perMinute, { nil: undefined });
    await fc.assert(
      fc.asyncProperty(perMinute, group, fc.array(fc.nat(99), { minLength: 1 }), async (limits, ofGroup, stepsMs) => {
        let atMs = noonMs;
        let reads = 0;
        vi.spyOn(time, 'nowMs', 'get').mockImplementation(() => (atMs += stepsMs[reads++ % stepsMs.length] ?? 0));
        const store = new MemoryLimitStore({ maxKeys: 10 });
        for (let n = 0; n < 5; n++) {
          const check = { ...request('key', String(n)), limits };
          const asked = ofGroup === undefined ? check : { ...check, group: { key: 'group', limits: ofGroup } };
          const { status, groupStatus, refusal } = await store.admit(asked);
          expect(status?.requests).toBeDefined();
          for (const requests of [status?.requests, groupStatus?.requests]) {
            expect(requests?.emptyAfterMs ?? 0).toBeLessThanOrEqual(60_000);
            expect(requests?.resetsAfterMs ?? 0).toBeLessThanOrEqual(60_000);
          }
          expect(refusal?.retryAfterMs ?? 0).toBeLessThanOrEqual(60_000);
        }
      }),
    );
  });

  it('holds no more keys than it may, and lets the least recently used go', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    for (let n = 0; n < 100; n++) {
      await store.admit(request('busy', String(n)));
      await store.admit(request(`key-${n}`));
    }
    expect(store.size).toBe(10);
    expect(await store.admit({ ...request('busy'), requestId: '' })).toMatchObject({
      status: { requests: { remaining: 0 } },
    });
  });

  it('remembers only so many settled requests', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10, maxSettledIds: 3 });
    for (const requestId of ['a', 'b', 'c']) await store.settle(settlement('key', requestId));
    expect(await store.settle(settlement('key', 'a'))).toMatchObject({ usedTokens: 3 });
    await store.settle(settlement('key', 'd'));
    expect(await store.settle(settlement('key', 'b'))).toMatchObject({ usedTokens: 4 });
    expect(await store.settle(settlement('key', 'a'))).toMatchObject({ usedTokens: 5 });
  });

  it('announces each request that takes a slot here, and none that is repeated, refused, read or recorded', async () => {
    const announced: unknown[] = [];
    const onAdmitted = (admission: unknown) => announced.push(admission);
    const store = new MemoryLimitStore({ maxKeys: 10, onAdmitted });
    const two = (requestId: string) => ({ ...request('key', requestId), limits: { requestsPerMinute: 2 } });
    store.record([{ key: 'key', requestId: 'recorded', ageMs: 1_000 }]);
    for (const requestId of ['', 'a', 'a', 'refused']) await store.admit(two(requestId));
    expect(announced).toEqual([{ key: 'key', requestId: 'a', enteredMs: noonMs }]);
    expect(store.admissions()).toEqual([
      { key: 'key', requestId: 'recorded', enteredMs: noonMs - 1_000 },
      { key: 'key', requestId: 'a', enteredMs: noonMs },
    ]);
  });

  it('announces each slot that a refused request returns, wherever it took it, and takes none for it later', async () => {
    const announced: unknown[] = [];
    const announce = (slot: unknown) => announced.push(slot);
    const listeners = { onAdmitted: announce, onReturned: announce };
    const store = new MemoryLimitStore({ maxKeys: 10, ...listeners });
    const terms = { ...request('key'), group: { key: 'g', limits: { requestsPerMinute: 10 } } };
    await store.admit(terms);
    const ofBoth = (requestId: string) => [
      { key: 'key', groupKey: 'g', requestId, enteredMs: noonMs },
      { key: 'g', requestId, enteredMs: noonMs },
    ];
    expect(announced.splice(0)).toEqual(ofBoth('a'));
    store.giveBack({ ...terms, requestId: 'elsewhere' });
    const { group: _none, ...alone } = terms;
    store.giveBack({ ...alone, requestId: 'elsewhere' });
    expect(announced).toEqual(
      [...ofBoth('elsewhere'), { key: 'key', requestId: 'elsewhere', enteredMs: noonMs }].map((slot) => ({
        ...slot,
        isReturned: true,
      })),
    );
    for (const key of ['key', 'g']) store.record([{ key, requestId: 'elsewhere', ageMs: 10 }]);
    store.record([{ key: 'key', groupKey: 'g', requestId: 'elsewhere', ageMs: 10 }]);
    const taken = store.admissions().filter(({ isReturned }) => isReturned !== true);
    expect(taken.map(({ requestId }) => requestId)).toEqual(['a', 'a']);
  });

  it('gives a slot back, once, and only one that was taken', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    const remaining = async () => (await store.admit(request('key', ''))).status?.requests?.remaining;
    store.release({ key: 'key', requestId: 'a' });
    for (const requestId of ['a', 'b', 'c']) await store.admit(request('key', requestId));
    for (const requestId of ['b', 'b', 'unknown']) store.release({ key: 'key', requestId });
    expect(await remaining()).toBe(8);
    expect(store.admissions().map(({ requestId }) => requestId)).toEqual(['a', 'c']);
  });

  it('records as many admissions as it has room for, again and again', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10, maxRecorded: 3 });
    let requests = 0;
    const record = (count: number) =>
      store.record(
        Array.from({ length: count }, (_, n) => ({ key: `key-${n % 2}`, requestId: `r${requests++}`, ageMs: 0 })),
      );
    for (let minute = 0; minute < 3; minute++) {
      record(2);
      expect(store.admissions()).toHaveLength(2);
      record(5);
      expect(store.admissions()).toHaveLength(3);
      store.release(store.admissions()[0] ?? expect.fail('nothing was recorded'));
      record(5);
      expect(store.admissions()).toHaveLength(3);
      time.advanceMs(60_000);
      // Reads drop what has expired.
      for (const key of ['key-0', 'key-1']) await store.admit(request(key, ''));
    }
  });

  it('has room again for admissions of keys that were not asked for since, a minute and ten seconds later', () => {
    const store = new MemoryLimitStore({ maxKeys: 10, maxRecorded: 1 });
    for (let n = 0; n < 5; n++) {
      store.record([{ key: `key-${n}`, requestId: 'r', ageMs: 0 }]);
      expect(store.admissions().map(({ key }) => key)).toEqual([`key-${n}`]);
      time.advanceMs(70_000);
    }
  });

  it('drops what has expired also after its clock was set back', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    await store.admit(request('other', ''));
    time.advanceMs(-3_600_000);
    await store.admit(request('key'));
    time.advanceMs(60_001);
    await store.admit(request('other', ''));
    expect(store.size).toBe(0);
  });

  it('takes a total as it is, whatever the day had before', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    await store.settle({ ...settlement('key', 'a'), tokens: 30, hasLedger: true });
    store.setTotal(counter, 50);
    expect(await store.pendingIds(counter)).toEqual([]);
    expect((await store.admit(request('key', ''))).status?.tokens?.remaining).toBe(50);
    store.setTotal(counter, 20);
    expect(await store.settle(settlement('key', 'b'))).toEqual({ usedTokens: 21, isLoaded: true });
    // A ledger's total below this one is an old one.
    const older = await store.reload(counter, { totalTokens: 19, includedIds: [], missingIds: [] });
    expect(older).toEqual({ usedTokensBefore: 21, usedTokensAfter: 21, pendingTokens: 1, unaskedTokens: 0 });
  });

  it('counts for a day that is long over', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    const old = { ...settlement('key', 'a'), localDay: '2026-01-01' };
    expect(await store.settle(old)).toEqual({ usedTokens: 1, isLoaded: true });
  });

  it('limits nothing of a key without limits', async () => {
    const { limits: _none, ...check } = request('key');
    expect((await open().admit(check)).refusal).toBeUndefined();
  });

  it('lets an id take another slot a minute later, unless its request ended and could have had a lease', async () => {
    const remaining = async (limits: { readonly concurrentRequests?: number }) => {
      const store = new MemoryLimitStore({ maxKeys: 10 });
      const check = { ...request('key'), limits: { requestsPerMinute: 10, ...limits } };
      await store.admit(check);
      await store.settle({ ...check, localDay: day, tokens: 1, ended: true });
      time.advanceMs(60_000);
      return (await store.admit(check)).status?.requests?.remaining;
    };
    expect([await remaining({}), await remaining({ concurrentRequests: 1 })]).toEqual([9, 10]);
  });

  it('takes a request for ended only in the group, or of the key, in which it ended', async () => {
    const store = open();
    const ended = { requestId: 'a', localDay: day, tokens: 0, ended: true };
    const limits = { concurrentRequests: 5 };
    const costKind = CostKind.REQUEST_AND_TOKENS;
    await store.settle({ ...ended, key: 'one' });
    const other = await store.admit({ key: 'other', limits, requestId: 'a', costKind });
    expect(other.status?.concurrency?.running).toBe(1);
    await store.settle({ ...ended, key: 'member', group: { key: 'g1' } });
    const moved = await store.admit({ key: 'member', group: { key: 'g2', limits }, requestId: 'a', costKind });
    expect(moved.groupStatus?.concurrency?.running).toBe(1);
  });

  it('knows no request of a key that it was not asked about', async () => {
    const store = new MemoryLimitStore({ maxKeys: 10 });
    expect(await store.pendingIds(counter)).toEqual([]);
  });

  const day = '2026-11-20';
  const open = (more: { readonly maxPendingIds?: number } = {}) => new MemoryLimitStore({ maxKeys: 10, ...more });

  it('needs no day total for a key without a day budget, though it has a ledger', async () => {
    const check = { ...request('key'), limits: { requestsPerMinute: 10 }, hasLedger: true };
    expect(await open().admit(check)).toMatchObject({ status: { requests: { remaining: 9 } } });
    expect((await open().admit({ ...check, limits: { tokensPerDay: 100 } })).unloaded).toEqual([counter]);
  });

  it('keeps nothing of a request without a limit of requests', async () => {
    const store = open();
    await store.admit({ ...request('key'), limits: { tokensPerDay: 100 } });
    expect([store.size, store.admissions()]).toEqual([0, []]);
  });

  it('keeps no counter for no tokens, and takes the tokens that the request settles later', async () => {
    const store = open();
    const settle = (requestId: string, tokens: number) =>
      store.settle({ key: 'key', requestId, localDay: day, tokens });
    expect(await settle('a', 0)).toEqual({ usedTokens: 0, isLoaded: true });
    expect(store.size).toBe(0);
    await settle('b', 7);
    expect(await settle('a', 0)).toEqual({ usedTokens: 7, isLoaded: true });
    expect(await settle('a', 5)).toEqual({ usedTokens: 12, isLoaded: true });
  });

  it('takes a tentative total when it has one already', async () => {
    const store = open();
    store.setTotal(counter, 50);
    await store.settle({ ...settlement('key', 'a'), hasLedger: true });
    const total = { totalTokens: 60, includedIds: [], missingIds: [], isTentative: true };
    expect(await store.reload(counter, total)).toMatchObject({ usedTokensAfter: 60, unaskedTokens: 1 });
  });

  it('takes the first total and one that it must take, however far the ledger lags, and others once it lags less', async () => {
    const store = open({ maxPendingIds: 4 });
    const reload = async (totalTokens: number, includedIds: readonly string[] = [], force = false) => {
      const missingIds = await store.pendingIds(counter);
      return (await store.reload(counter, { totalTokens, includedIds, missingIds, force })).usedTokensAfter;
    };
    for (const requestId of ['a', 'b', 'c']) await store.settle({ ...settlement('key', requestId), hasLedger: true });
    expect(await reload(100)).toBe(103);
    expect(await reload(200)).toBe(103);
    expect(await reload(200, [], true)).toBe(203);
    expect(await reload(301, ['a'])).toBe(303);
  });

  describe('with a group and money', () => {
    const budget = { amountMicros: 100, period: BudgetPeriod.DAY };
    const money = { key: 'g', span: budgetSpan(BudgetPeriod.DAY, day) };
    const terms = { key: 'key', group: { key: 'g', limits: { budget }, hasLedger: true } };
    const check = { ...terms, requestId: 'a', costKind: CostKind.REQUEST_AND_TOKENS };

    it('decides nothing before the total of each counter is loaded that a limit needs', async () => {
      const store = open();
      const withDay = { ...check, limits: { tokensPerDay: 100 }, hasLedger: true };
      const dayOfKey = { key: 'key', groupKey: 'g', span: daySpan(day) };
      expect((await store.admit(withDay)).unloaded).toEqual([dayOfKey, money]);
      store.setTotal(money, 10);
      expect((await store.admit(withDay)).unloaded).toEqual([dayOfKey]);
      await store.settle({ ...withDay, requestId: 'z', localDay: day, tokens: 1, hasLedger: true });
      expect((await store.admit(withDay)).unloaded).toEqual([dayOfKey]);
      store.setTotal(dayOfKey, 10);
      const decision = await store.admit(withDay);
      expect(decision.unloaded).toBeUndefined();
      expect(decision.groupStatus?.budget).toMatchObject({ spentMicros: 10, amountMicros: 100 });
    });

    it('leaves to each replica its part of what was left of a budget, and counts the rest as reserved', async () => {
      const store = open();
      store.setTotal(money, 20);
      const place = { replicas: 4, position: 0 };
      const { groupStatus } = await store.admit({ ...check, place });
      expect(groupStatus?.budget).toMatchObject({ spentMicros: 20, reservedMicros: 60 });
      expect(await store.reserve({ ...terms, requestId: 'a', localDay: day, costMicros: 20, place })).toBeUndefined();
      const refusal = await store.reserve({ ...terms, requestId: 'b', localDay: day, costMicros: 1, place });
      expect(refusal).toMatchObject({ limit: LimitName.BUDGET });
    });

    it('frees what a request reserved when the ledger has it, and charges it no second time', async () => {
      const store = open();
      store.setTotal(money, 0);
      for (const requestId of ['a', 'b']) await store.reserve({ ...terms, requestId, localDay: day, costMicros: 30 });
      expect(await store.pendingIds(money)).toEqual(['a', 'b']);
      await store.reload(money, { totalTokens: 25, includedIds: ['a', 'other'], missingIds: ['b'] });
      expect(await store.pendingIds(money)).toEqual(['b']);
      const settle = (requestId: string) =>
        store.settle({ ...terms, requestId, localDay: day, tokens: 1, costMicros: 25, ended: true });
      expect(await settle('a')).toMatchObject({ groupSpentMicros: 25 });
      expect(await settle('b')).toMatchObject({ groupSpentMicros: 50 });
      const settled = await settle('b');
      expect(settled).toMatchObject({ groupSpentMicros: 50 });
      expect(settled).not.toHaveProperty('unloaded');
    });

    it('names the counters of a settlement whose totals are missing, other than that of the key', async () => {
      const settlement = { ...terms, requestId: 'a', localDay: day, tokens: 1, costMicros: 25, hasLedger: true };
      expect(await open().settle(settlement)).toEqual({
        usedTokens: 1,
        isLoaded: false,
        groupSpentMicros: 25,
        unloaded: [money],
      });
    });
  });
});
