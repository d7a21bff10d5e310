import { create } from '@bufbuild/protobuf';
import {
  BudgetPeriod,
  CostKind,
  LimitName,
  LimitStatusSchema,
  RefusalSchema,
} from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { admitted, alone, at, open, setUp, today } from '../test/replica.ts';
import type { Decision } from './decide.ts';
import type { ReplicaPlace } from './replica-share.ts';

const midnight = Date.parse('2026-11-20T23:00:00Z');
const retryAtMs = ({ refusal }: Decision) => refusal?.retryAtMs;

describe('a replica whose remote is away', () => {
  const limits = { requestsPerMinute: 2, tokensPerDay: 50 };
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('admits the limit in any minute and says when the next slot frees', async () => {
    const { time, decide, goAway } = await setUp();
    goAway();
    expect((await decide(limits)).status?.requests).toMatchObject({ limit: 2, remaining: 1 });
    time.advanceMs(10_000);
    expect((await decide(limits)).refusal).toBeUndefined();
    const refused = await decide(limits);
    expect(refused.refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(retryAtMs(refused)).toBe(at + 60_000);
    const { emptyAtMs, resetsAtMs } = refused.status?.requests ?? {};
    expect([emptyAtMs, resetsAtMs]).toEqual([at + 70_000, at + 60_000]);
    time.setMs(at + 60_000);
    expect((await decide(limits)).refusal).toBeUndefined();
  });

  it('admits its share only, and all replicas together the limit', async () => {
    for (const limit of [1, 2, 5, 60]) {
      const shares = [0, 1, 2].map(async (position) => {
        const { decide, goAway } = await setUp({ replicas: 3, position });
        goAway();
        const asked = Array.from({ length: 70 }, () => decide({ requestsPerMinute: limit }));
        const decisions = await Promise.all(asked);
        for (const { status } of decisions) expect(status?.requests?.limit).toBe(limit);
        expect(decisions.at(-1)?.status?.requests?.remaining).toBe(0);
        return decisions.filter(({ refusal }) => refusal === undefined).length;
      });
      expect((await Promise.all(shares)).reduce((sum, share) => sum + share, 0)).toBe(limit);
    }
  });

  it('admits its share only, however often the remote was lost and came back without having heard of the others', async () => {
    const { time, state, decide, goAway, comeBack } = await setUp({ replicas: 2, position: 1 });
    state.place = alone;
    for (let loss = 0; loss < 6; loss++) {
      goAway();
      await decide({ requestsPerMinute: 1_000 });
      await vi.advanceTimersByTimeAsync(10);
      time.advanceMs(1_000);
      await comeBack();
      time.advanceMs(3_000);
    }
    goAway();
    const asked = Array.from({ length: 70 }, () => decide({ requestsPerMinute: 60 }, { key: 'fresh' }));
    expect((await Promise.all(asked)).filter(({ refusal }) => refusal === undefined)).toHaveLength(30);
  });

  it('decides nothing alone that has just started, while its first call is under way', async () => {
    const { limits: replica, state, decide, goAway, comeBack } = open();
    const heartbeat = Promise.withResolvers<void>();
    state.heartbeat = heartbeat.promise;
    const started = replica.start();
    await vi.advanceTimersByTimeAsync(0);
    goAway();
    await expect(decide(limits)).rejects.toMatchObject({ status: 'unavailable' });
    // The place names this replica alone: the remote may have forgotten the others.
    heartbeat.resolve();
    await started;
    await expect(decide(limits)).rejects.toMatchObject({ status: 'unavailable' });
    await comeBack();
    expect((await decide(limits)).status?.degraded).not.toBe(true);
    goAway();
    expect((await decide(limits)).status?.degraded).toBe(true);
  });

  it('keeps to its share when it is back, until all others are, for ten seconds at most', async () => {
    const { time, state, decide, goAway, comeBack } = await setUp({ replicas: 2, position: 0 });
    const pass = async (ms: number) => {
      time.advanceMs(ms);
      await vi.advanceTimersByTimeAsync(ms);
    };
    /** Whether this replica asks the remote for more than its share. */
    const asksForMore = async () => {
      const key = `key-${time.nowMs}`;
      const asked = [1, 2].map(() => decide({ requestsPerMinute: 2 }, { key }));
      return (await Promise.all(asked)).every(({ refusal }) => refusal === undefined);
    };
    const losesAndFinds = async (found: Partial<ReplicaPlace>) => {
      goAway();
      await decide({ requestsPerMinute: 2 });
      await pass(1_000);
      state.place = { replicas: 2, position: 0, ...found };
      await comeBack();
    };
    // The other replica was last heard from before this one returned.
    await losesAndFinds({ longestSilenceMs: 20_000 });
    expect(await asksForMore()).toBe(false);
    await pass(9_900);
    expect(await asksForMore()).toBe(false);
    await pass(100);
    expect(await asksForMore()).toBe(true);
    // The remote has forgotten the other replica.
    await losesAndFinds({ replicas: 1 });
    expect(await asksForMore()).toBe(false);
    state.place = { replicas: 2, position: 0, longestSilenceMs: 40 };
    await pass(50);
    expect(await asksForMore()).toBe(true);
  });

  it('gives a slot of its share back that the remote refused', async () => {
    const { state, decide, goAway, comeBack } = await setUp({ replicas: 2, position: 0 });
    goAway();
    await decide({ requestsPerMinute: 4 });
    await comeBack();
    const refusal = create(RefusalSchema, { limit: LimitName.REQUESTS_PER_MINUTE });
    state.answer = { ...admitted(0, 100), refusal };
    for (let n = 0; n < 3; n++) expect((await decide({ requestsPerMinute: 4 })).refusal).toBeDefined();
    state.answer = admitted(1, 100);
    expect((await decide({ requestsPerMinute: 4 })).refusal).toBeUndefined();
    expect((await decide({ requestsPerMinute: 4 })).status?.degraded).toBe(true);
  });

  it('keeps what it holds of a window, with its share of what was free when it last asked', async () => {
    const { state, decide, goAway } = await setUp({ replicas: 2, position: 1 });
    const terms = { requestsPerMinute: 10 };
    for (const remaining of [9, 8, 2]) {
      state.answer = { status: create(LimitStatusSchema, { localDay: today, requests: { limit: 10, remaining } }) };
      await decide(terms);
    }
    goAway();
    const asked = Array.from({ length: 10 }, () => decide(terms));
    // It holds 3, the others 5, and 2 were free.
    expect((await Promise.all(asked)).filter(({ refusal }) => refusal === undefined)).toHaveLength(1);
  });

  it('learns of a window also by reading it, but not before all others are back', async () => {
    const { time, state, decide, goAway, comeBack } = await setUp({ replicas: 2, position: 0 });
    const read = (remaining: number) => {
      state.answer = { status: create(LimitStatusSchema, { localDay: today, requests: { limit: 10, remaining } }) };
      return decide({ requestsPerMinute: 10 }, { requestId: '', costKind: CostKind.REQUEST_ONLY });
    };
    const left = async () => (await decide({ requestsPerMinute: 10 }, { requestId: '' })).status?.requests?.remaining;
    await read(0);
    goAway();
    expect(await left()).toBe(0);
    state.place = { replicas: 2, position: 0, longestSilenceMs: 20_000 };
    await comeBack();
    await read(10);
    goAway();
    expect(await left()).toBe(0);
    await comeBack();
    time.advanceMs(10_000);
    await vi.advanceTimersByTimeAsync(10_000);
    await read(4);
    goAway();
    expect(await left()).toBe(2);
  });

  it('says to come again in a minute when nothing falls to it', async () => {
    const { decide, goAway } = await setUp({ replicas: 2, position: 1 });
    goAway();
    expect(retryAtMs(await decide({ requestsPerMinute: 1 }))).toBe(at + 60_000);
  });

  it('goes on from what the remote admitted through it', async () => {
    const { time, state, decide, goAway } = await setUp();
    state.answer = admitted(1, 100);
    await decide(limits);
    time.advanceMs(10_000);
    goAway();
    expect((await decide(limits)).status?.requests?.remaining).toBe(0);
    expect(retryAtMs(await decide(limits))).toBe(at + 60_000);
  });

  it('goes on from the day budget as it knew it, and from what was used since', async () => {
    const { state, decide, settle, goAway } = await setUp();
    const budget = { tokensPerDay: 100 };
    state.answer = admitted(1, 60);
    await decide(budget);
    state.used = 70;
    await settle('a', 30);
    goAway();
    expect((await decide(budget)).status?.tokens).toMatchObject({ limit: 100, remaining: 30 });
    await settle('b', 29);
    expect((await decide(budget)).refusal).toBeUndefined();
    await settle('c', 5);
    const refused = await decide(budget);
    expect(refused.refusal?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect(retryAtMs(refused)).toBe(midnight);
    expect((await decide(budget, { costKind: CostKind.REQUEST_ONLY })).refusal).toBeUndefined();
  });

  it('spends its share of what was left of a budget, and keeps the rest for the others', async () => {
    const { limits: shared, state, decide, goAway } = await setUp({ replicas: 4, position: 1 });
    const budget = { amountMicros: 100, period: BudgetPeriod.MONTH };
    state.answer = { status: create(LimitStatusSchema, { localDay: today, budget: { ...budget, spentMicros: 20 } }) };
    await decide({ budget });
    goAway();
    expect((await decide({ budget })).refusal).toBeUndefined();
    const reserve = (requestId: string, costMicros: number) =>
      shared.reserve({ key: 'k', limits: { budget }, requestId, localDay: today, costMicros });
    expect(await reserve('a', 21)).toMatchObject({ limit: LimitName.BUDGET });
    expect(await reserve('b', 20)).toBeUndefined();
    // The others may have spent less when the outage is over.
    const refused = await decide({ budget });
    expect([refused.refusal?.limit, retryAtMs(refused)]).toEqual([LimitName.BUDGET, at + 1_000]);
    const ended = {
      key: 'k',
      limits: { budget },
      requestId: 'b',
      localDay: today,
      tokens: 1,
      costMicros: 5,
      ended: true,
    };
    await shared.settle(ended);
    expect(await reserve('c', 15)).toBeUndefined();
    expect(await reserve('d', 1)).toMatchObject({ limit: LimitName.BUDGET });
  });

  it('begins the day budget anew at midnight', async () => {
    const { time, state, decide, settle, goAway } = await setUp();
    state.answer = admitted(1, 0);
    const budget = { tokensPerDay: 100 };
    await decide(budget);
    goAway();
    expect((await decide(budget)).refusal).toBeDefined();
    time.setMs(midnight);
    expect(await decide(budget)).toMatchObject({ status: { localDay: '2026-11-21', tokens: { remaining: 100 } } });
    await settle('of yesterday', 100);
    expect((await decide(budget)).refusal).toBeUndefined();
  });

  it('does not refuse by a day budget of which it knows nothing', async () => {
    const { decide, goAway } = await setUp();
    goAway();
    const { status, refusal } = await decide({ tokensPerDay: 50 });
    expect(refusal).toBeUndefined();
    expect(status).toMatchObject({ degraded: true, localDay: today, tokens: { limit: 50, remaining: 50 } });
    expect(status?.requests).toBeUndefined();
  });

  it('refuses everything at a limit of 0: requests for 60 seconds, tokens until midnight', async () => {
    const { decide, goAway } = await setUp();
    goAway();
    const none = await decide({ requestsPerMinute: 0 });
    expect(none.refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(retryAtMs(none)).toBe(at + 60_000);
    expect(none.status?.requests?.nextSlotAtMs).toBeUndefined();
    expect(retryAtMs(await decide({ tokensPerDay: 0 }))).toBe(midnight);
    const both = await decide({ requestsPerMinute: 0, tokensPerDay: 0 });
    expect([both.refusal?.limit, retryAtMs(both)]).toEqual([LimitName.TOKENS_PER_DAY, midnight]);
  });

  it('hands over what it admitted in the last minute, after each outage', async () => {
    const { time, state, decide, goAway, comeBack } = await setUp();
    state.answer = admitted(1, 100);
    await decide({ requestsPerMinute: 5 });
    goAway();
    await decide({ requestsPerMinute: 5 });
    time.advanceMs(30_000);
    await decide({ requestsPerMinute: 5 });
    time.advanceMs(30_000);
    await comeBack();
    expect(state.handedOver).toEqual([{ key: 'k', requestId: 'r3', ageMs: 30_000 }]);
    goAway();
    await decide({ requestsPerMinute: 5 });
    await comeBack();
    expect(state.handedOver.map(({ requestId }) => requestId)).toEqual(['r3', 'r4']);
  });

  it('tells a remote that has not heard of it what it admitted, and goes on asking it', async () => {
    const { limits, time, state, decide, handedOver } = await setUp();
    state.answer = admitted(1, 100);
    await decide({ requestsPerMinute: 5 });
    time.advanceMs(30_000);
    state.place = { ...alone, isNew: true };
    await vi.advanceTimersByTimeAsync(2_000);
    expect(handedOver.mock.calls).toEqual([[[{ key: 'k', requestId: 'r1', ageMs: 30_000 }]]]);
    expect((await decide({ requestsPerMinute: 5 })).status?.degraded).toBe(false);
    expect(limits.isAway).toBe(false);
  });

  it('hands over every admission once, a few at a time, also when it fails in the middle', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(700), { maxLength: 4 }), fc.nat(4), async (counts, failsAt) => {
        const { state, handedOver, decide, goAway, comeBack } = await setUp();
        goAway();
        for (const [key, count] of counts.entries()) {
          for (let n = 0; n < count; n++) await decide({ requestsPerMinute: 1_000 }, { key: `key-${key}` });
        }
        handedOver.mockImplementation((admissions) => {
          if (handedOver.mock.calls.length === failsAt) throw new RpcError('unavailable', 'away');
          state.handedOver.push(...admissions);
        });
        await comeBack();
        await vi.advanceTimersByTimeAsync(100);
        for (const [admissions] of handedOver.mock.calls) expect(admissions.length).toBeLessThanOrEqual(500);
        const total = counts.reduce((sum, count) => sum + count, 0);
        expect(new Set(state.handedOver.map(({ requestId }) => requestId)).size).toBe(total);
      }),
      { numRuns: 30 },
    );
  });

  it('is away from the start when it reaches nothing, and back when it does', async () => {
    const seen: unknown[] = [];
    const away = (thrown: unknown) => seen.push(String(thrown));
    const back = (awayMs: number) => seen.push(awayMs);
    const { limits: replica, state, time } = open(alone, { events: { away, back } });
    state.isAway = true;
    expect(replica.whenBack).toBeUndefined();
    await replica.start();
    expect([replica.isAway, seen]).toEqual([true, ['RpcError: away']]);
    let isBack = false;
    void replica.whenBack?.then(() => {
      isBack = true;
    });
    time.advanceMs(700);
    state.isAway = false;
    await vi.advanceTimersByTimeAsync(50);
    expect([isBack, replica.isAway, replica.whenBack]).toEqual([true, false, undefined]);
    expect(seen).toEqual(['RpcError: away', 700]);
  });

  it('does nothing more when it is closed, also while it starts', async () => {
    const starting = open({ ...alone, isNew: true });
    const answered = Promise.withResolvers<void>();
    starting.state.heartbeat = answered.promise;
    const started = starting.limits.start();
    starting.state.answer = admitted(1, 100);
    await starting.decide(limits);
    await starting.limits[Symbol.asyncDispose]();
    answered.resolve();
    await started;
    expect(starting.handedOver).not.toHaveBeenCalled();
    const running = await setUp();
    running.goAway();
    await running.decide(limits);
    await running.limits[Symbol.asyncDispose]();
    const beats = running.state.beats.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(running.state.beats).toHaveLength(beats);
    const closed = await setUp();
    await closed.limits[Symbol.asyncDispose]();
    closed.goAway();
    await closed.decide(limits);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('offers settles again, each second, that the remote rejects when it is back', async () => {
    const { state, settle, settled, goAway, comeBack } = await setUp();
    goAway();
    await settle('a', 5);
    state.refusesSettles = true;
    await comeBack();
    await vi.advanceTimersByTimeAsync(500);
    state.refusesSettles = false;
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(600);
    expect(settled.mock.calls).toEqual([['a']]);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(settled).toHaveBeenCalledTimes(1);
  });
});
