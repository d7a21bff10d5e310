import { create } from '@bufbuild/protobuf';
import {
  BudgetPeriod,
  CostKind,
  LimitName,
  LimitStatusSchema,
  RefusalSchema,
} from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { admitted, alone, setUp, today } from '../test/replica.ts';
import { daySpan } from './span.ts';

const two = { replicas: 2, position: 0 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a replica that asks its remote', () => {
  it('keeps no slot of a request that the remote refuses', async () => {
    const { state, decide, goAway } = await setUp();
    const refusal = create(RefusalSchema, { limit: LimitName.TOKENS_PER_DAY });
    state.answer = { ...admitted(2, 60), refusal };
    await decide({ requestsPerMinute: 2, tokensPerDay: 100 });
    goAway();
    const { status } = await decide({ requestsPerMinute: 2, tokensPerDay: 100 });
    expect(status).toMatchObject({ requests: { remaining: 1 }, tokens: { remaining: 60 } });
  });

  it('keeps no lease of a request that the remote cannot decide yet', async () => {
    const { state, decide, goAway } = await setUp();
    state.answer = {
      status: create(LimitStatusSchema, { localDay: today }),
      unloaded: [{ key: 'k', span: daySpan(today) }],
    };
    await decide({ concurrentRequests: 1, tokensPerDay: 100 });
    goAway();
    expect((await decide({ concurrentRequests: 1, tokensPerDay: 100 })).refusal).toBeUndefined();
  });

  it('keeps no slot for those who only read the limits', async () => {
    const { state, decide, goAway } = await setUp();
    state.answer = admitted(2, 60);
    await decide({ requestsPerMinute: 2 }, { requestId: '', costKind: CostKind.REQUEST_ONLY });
    goAway();
    expect((await decide({ requestsPerMinute: 2 })).status?.requests?.remaining).toBe(1);
  });

  it('keeps the lease of a request of which a part was charged, until it ends', async () => {
    const { limits, state, decide, goAway } = await setUp();
    state.answer = admitted(1, 100);
    const terms = { concurrentRequests: 1 };
    await decide(terms);
    const settlement = { key: 'k', limits: terms, requestId: 'r1', localDay: today, tokens: 5 };
    await limits.settle(settlement);
    goAway();
    expect((await decide(terms)).refusal?.limit).toBe(LimitName.CONCURRENCY);
    await limits.settle({ ...settlement, ended: true });
    expect((await decide(terms)).refusal).toBeUndefined();
  });

  it('finds an outage by its heartbeat, and when it hands over to a remote that has not heard of it', async () => {
    const idle = await setUp();
    idle.goAway();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(idle.limits.isAway).toBe(true);
    const busy = await setUp();
    busy.state.answer = admitted(1, 100);
    await busy.decide({ requestsPerMinute: 2 });
    busy.state.place = { ...alone, isNew: true };
    busy.handedOver.mockImplementation(() => {
      busy.goAway();
      throw new RpcError('unavailable', 'away');
    });
    await vi.advanceTimersByTimeAsync(2_000);
    expect(busy.limits.isAway).toBe(true);
  });

  it('shows with each heartbeat when it was last answered', async () => {
    const { state } = await setUp({ ...alone, answeredAtMs: 7 });
    const lastAnswered = () => state.beats.at(-1)?.lastAnsweredAtMs;
    expect(lastAnswered()).toBeUndefined();
    state.place = { ...alone, answeredAtMs: 9 };
    await vi.advanceTimersByTimeAsync(2_000);
    expect(lastAnswered()).toBe(7);
    state.place = undefined;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(lastAnswered()).toBe(9);
  });
});

describe('a replica whose remote refuses a reservation', () => {
  it('returns its own slot of the request, and hands that over with what it holds', async () => {
    const { limits, state, decide, goAway, comeBack } = await setUp();
    const terms = { requestsPerMinute: 2 };
    state.answer = admitted(1, 100);
    await decide(terms, { requestId: 'refused' });
    state.refusal = create(RefusalSchema, { limit: LimitName.BUDGET });
    await limits.reserve({ key: 'k', requestId: 'refused', limits: terms, localDay: today, costMicros: 1 });
    goAway();
    expect((await decide(terms, { requestId: 'alone' })).status?.requests?.remaining).toBe(1);
    await comeBack();
    const handedOver = state.handedOver.map(({ requestId, isReturned }) => [requestId, isReturned]);
    expect(handedOver).toEqual([
      ['alone', undefined],
      ['refused', true],
    ]);
  });
});

describe('a replica that waits for its remote', () => {
  it('probes it with a heartbeat, and not with what it has to settle', async () => {
    const { state, settle, goAway } = await setUp();
    goAway();
    await settle('a', 5);
    const { settles, beats } = { settles: state.settles, beats: state.beats.length };
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.settles).toBe(settles);
    expect(state.beats.length).toBeGreaterThan(beats + 10);
  });

  describe('and refuses a reservation', () => {
    const terms = { requestsPerMinute: 5, budget: { amountMicros: 100, period: BudgetPeriod.DAY } };
    const refused = { key: 'k', requestId: 'r1', limits: terms, localDay: today, costMicros: 101 };
    /** Without it, the refused request would cross the budget. */
    const reserveAnother = (limits: Awaited<ReturnType<typeof setUp>>['limits']) =>
      limits.reserve({ ...refused, requestId: 'another', costMicros: 1 });

    /** A budget of which nothing is known refuses in an outage. */
    const seeBudget = async ({ state, decide }: Pick<Awaited<ReturnType<typeof setUp>>, 'state' | 'decide'>) => {
      state.answer = { status: create(LimitStatusSchema, { localDay: today, budget: { amountMicros: 100 } }) };
      for (const key of ['k', 'other']) await decide(terms, { key, requestId: 'seen' });
    };

    it('hands over that the request returned the slot that it took meanwhile', async () => {
      const opened = await setUp();
      const { limits, state, decide, goAway, comeBack } = opened;
      await seeBudget(opened);
      goAway();
      for (const [key, requestId] of [
        ['k', 'r1'],
        ['k', 'r2'],
        ['other', 'r1'],
      ] as const)
        await decide(terms, { key, requestId });
      await reserveAnother(limits);
      expect((await limits.reserve(refused))?.limit).toBe(LimitName.BUDGET);
      await comeBack();
      const own = [
        { key: 'k', requestId: 'r2' },
        { key: 'k', requestId: 'r1', isReturned: true },
      ];
      const all = [...own, { key: 'other', requestId: 'r1' }].map((slot) => ({ ...slot, ageMs: 0 }));
      expect(state.handedOver).toHaveLength(3);
      expect(state.handedOver).toEqual(expect.arrayContaining(all));
    });

    it('hands over the return of a slot that the remote gave', async () => {
      const opened = await setUp();
      const { time, limits, state, decide, goAway, comeBack } = opened;
      await seeBudget(opened);
      state.answer = admitted(1, 100);
      await decide(terms, { requestId: 'r1' });
      goAway();
      await reserveAnother(limits);
      expect((await limits.reserve(refused))?.limit).toBe(LimitName.BUDGET);
      time.advanceMs(1_000);
      await comeBack();
      expect(state.handedOver).toEqual([{ key: 'k', requestId: 'r1', ageMs: 1_000, isReturned: true }]);
    });
  });

  it('tells the others that it is back only after the hand-over', async () => {
    const { state, decide, goAway } = await setUp();
    goAway();
    await decide({ requestsPerMinute: 5 });
    const gate = Promise.withResolvers<void>();
    await vi.advanceTimersByTimeAsync(20);
    state.beats.length = 0;
    state.heartbeat = gate.promise;
    state.isAway = false;
    await vi.advanceTimersByTimeAsync(6_000);
    expect(new Set(state.beats.map(({ group }) => group))).toEqual(new Set(['edge:returning']));
    gate.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(state.beats.at(-1)?.group).toBe('edge');
  });

  it('does not fall back to lower totals that the remote answers before the hand-over fails', async () => {
    const { state, decide, settle, handedOver, goAway, comeBack } = await setUp();
    const limits = { requestsPerMinute: 5, tokensPerDay: 50 };
    goAway();
    await decide(limits);
    await settle('a', 60);
    handedOver.mockImplementation(() => {
      throw new RpcError('unavailable', 'away');
    });
    state.used = 1;
    await comeBack();
    expect((await decide(limits)).refusal?.limit).toBe(LimitName.TOKENS_PER_DAY);
  });

  it('hands over also what it admits meanwhile, and then says how long the outage was', async () => {
    const back = vi.fn();
    const opened = await setUp(alone, { events: { back } });
    const { state, decide, handedOver, goAway, comeBack } = opened;
    goAway();
    await decide({ requestsPerMinute: 5 });
    handedOver.mockImplementation((admissions) => {
      if (state.handedOver.length === 0) void decide({ requestsPerMinute: 5 });
      state.handedOver.push(...admissions);
    });
    await comeBack();
    expect(new Set(state.handedOver.map(({ requestId }) => requestId))).toEqual(new Set(['r1', 'r2']));
    expect(back.mock.calls).toEqual([[0]]);
  });

  it('asks no more than by its heartbeats once all is settled', async () => {
    const { state, decide, goAway, comeBack } = await setUp();
    goAway();
    await decide({ requestsPerMinute: 5 });
    await comeBack();
    await vi.advanceTimersByTimeAsync(100);
    expect(vi.getTimerCount()).toBe(1);
    state.beats.length = 0;
    await vi.advanceTimersByTimeAsync(4_000);
    expect(state.beats).toHaveLength(2);
  });
});

describe('a replica that is back before the others', () => {
  const [away, decidedAlone] = [vi.fn(), vi.fn()];
  /** Whose share is half of each limit until the other is back. */
  const returned = async () => {
    const opened = await setUp(two, { events: { away, decidedAlone } });
    opened.goAway();
    await opened.decide({ requestsPerMinute: 2 });
    opened.state.place = { ...two, longestSilenceMs: 5_000 };
    await opened.comeBack();
    opened.state.answer = admitted(1, 100);
    for (const event of [away, decidedAlone]) event.mockClear();
    return opened;
  };

  it('leaves it to the remote how many requests run at a time', async () => {
    const { decide } = await returned();
    for (let n = 0; n < 3; n++) expect((await decide({ concurrentRequests: 2 })).refusal).toBeUndefined();
    for (let n = 0; n < 3; n++) {
      const group = { key: 'g', limits: { concurrentRequests: 2 } };
      expect((await decide(undefined, { group })).refusal).toBeUndefined();
    }
    expect(decidedAlone).not.toHaveBeenCalled();
  });

  it('keeps to its share of a group’s requests per minute', async () => {
    const { decide } = await returned();
    const group = { key: 'g', limits: { requestsPerMinute: 2 } };
    expect((await decide(undefined, { group })).refusal).toBeUndefined();
    expect((await decide(undefined, { group })).refusal?.limit).toBe(LimitName.GROUP_REQUESTS_PER_MINUTE);
  });

  it('says that it decides alone when it refuses what is beyond its share', async () => {
    const { decide } = await returned();
    expect((await decide({ requestsPerMinute: 2 })).refusal).toBeDefined();
    expect(decidedAlone).toHaveBeenCalledTimes(1);
  });

  it('hands over a request whose remote goes away before it answers', async () => {
    const { state, decide, goAway, comeBack } = await returned();
    state.handedOver.length = 0;
    goAway();
    expect((await decide({ requestsPerMinute: 4 })).status?.degraded).toBe(true);
    await comeBack();
    expect(state.handedOver.map(({ requestId }) => requestId)).toEqual(['r1', 'r2']);
  });

  it('stays with a remote that knows no places for a while', async () => {
    const { state } = await returned();
    state.place = undefined;
    await vi.advanceTimersByTimeAsync(500);
    expect(away).not.toHaveBeenCalled();
  });

  it('probes the remote no more often when it loses it again', async () => {
    const { decide, goAway } = await returned();
    goAway();
    await decide({ requestsPerMinute: 4 });
    expect(away).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(10);
    // Its heartbeat, and the next probe.
    expect(vi.getTimerCount()).toBe(2);
  });

  it('needs no consent of its own windows when it is the only one', async () => {
    const { decide, goAway, comeBack } = await setUp(alone);
    goAway();
    for (let n = 0; n < 2; n++) await decide({ requestsPerMinute: 2 });
    await comeBack();
    expect((await decide({ requestsPerMinute: 2 })).refusal).toBeUndefined();
  });

  it('keeps to no share when replicas decide nothing alone: the remote lacks nothing', async () => {
    const { state, decide, goAway, comeBack } = await setUp(two, { failureMode: 'closed' });
    goAway();
    await expect(decide({ requestsPerMinute: 2 })).rejects.toMatchObject({
      code: 'providers_unavailable',
      message: expect.stringContaining('Try again later'),
    });
    await comeBack();
    state.answer = admitted(0, 100);
    for (let n = 0; n < 2; n++) expect((await decide({ requestsPerMinute: 2 })).refusal).toBeUndefined();
  });
});
