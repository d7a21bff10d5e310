import { BudgetPeriod, CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { RpcError } from '@gateway/rpc';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { FallbackLimits } from './fallback-limits.ts';
import type { Check } from './limited-key.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';

const at = Date.parse('2026-11-20T11:00:00Z');
const localDay = '2026-11-20';
const group = {
  key: 'g',
  limits: {
    requestsPerMinute: 6,
    concurrentRequests: 4,
    tokensPerDay: 100,
    budget: { amountMicros: 100, period: BudgetPeriod.DAY },
  },
};

/** Replicas of one remote that is in memory, and that each of them can lose. */
async function replicasOf(count: number) {
  const time = new ManualTime(at);
  onTestFinished(() => time[Symbol.dispose]());
  const remote = new MemoryLimitStore({ maxKeys: 1_000 });
  const away = new Set<number>();
  const state = { isNew: false };
  const open = async (position: number) => {
    const unlessAway =
      <A extends readonly unknown[], T>(call: (...args: A) => Promise<T>) =>
      async (...args: A): Promise<T> => {
        if (away.has(position)) throw new RpcError('unavailable', 'away');
        return call(...args);
      };
    const ignore = () => undefined;
    const limits = new FallbackLimits({
      remote: {
        admit: unlessAway((check: Check) => remote.admit(check)),
        reserve: unlessAway((reservation) => remote.reserve(reservation)),
        renew: unlessAway((running) => remote.renew(running)),
        settle: unlessAway((settlement) => remote.settle(settlement)),
        heartbeat: unlessAway(async ({ admissions }) => {
          remote.record(admissions);
          return { replicas: count, position, isNew: state.isNew };
        }),
      },
      ...{ failureMode: 'local', localMaxMs: Infinity },
      events: { away: ignore, back: ignore, decidedAlone: ignore, settleKept: ignore },
    });
    await limits.start();
    // It has seen the totals of the group: a budget of which nothing is known refuses in an outage.
    await limits.settle({ key: 'k', limits: {}, group, requestId: `seen-by-${position}`, localDay, tokens: 0 });
    return limits;
  };
  const replicas = await Promise.all(Array.from({ length: count }, (_, position) => open(position)));
  let requests = 0;
  /** The id of an admitted request, or the limit that refused it. */
  const admit = async (replica: number) => {
    const requestId = `r${++requests}`;
    const costKind = CostKind.REQUEST_AND_TOKENS;
    const decision = await replicas[replica]?.admit({ key: 'k', group, requestId, costKind, limits: {} });
    return decision?.refusal?.limit ?? requestId;
  };
  const settle = (replica: number, requestId: string | number, { tokens = 0, costMicros = 0 } = {}) =>
    replicas[replica]?.settle({
      ...{ key: 'k', limits: {}, group, requestId: `${requestId}`, localDay },
      ...{ tokens, costMicros, ended: true },
    });
  const reserve = async (replica: number, requestId: string | number, costMicros: number) => {
    const terms = { key: 'k', limits: {}, group, requestId: `${requestId}`, localDay, costMicros };
    return (await replicas[replica]?.reserve(terms))?.limit;
  };
  const read = async () => {
    const peeked = await remote.admit({ key: 'k', group, limits: {}, requestId: '', costKind: CostKind.REQUEST_ONLY });
    const { requests: window, concurrency, tokens, budget } = peeked.groupStatus ?? {};
    return {
      slots: window && window.limit - window.remaining,
      running: concurrency?.running,
      tokens: tokens && tokens.limit - tokens.remaining,
      money: budget && [budget.spentMicros, budget.reservedMicros],
    };
  };
  const goAway = (...which: readonly number[]) => {
    for (const each of which) away.add(each);
  };
  const comeBack = async () => {
    away.clear();
    await vi.advanceTimersByTimeAsync(100);
  };
  return { time, replicas, state, admit, settle, reserve, read, goAway, comeBack };
}

const held = (requestId: string) => ({ key: 'k', limits: {}, group, requestId, localDay, costMicros: 0 });

describe('a group whose replicas lose the remote', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('has as many requests at a time as before, each replica its share', async () => {
    const { admit, settle, goAway } = await replicasOf(2);
    const running = await admit(0);
    goAway(0, 1);
    expect(await admit(0)).toBe('r2');
    expect(await admit(0)).toBe(LimitName.CONCURRENCY);
    expect([await admit(1), await admit(1)]).toEqual(['r4', 'r5']);
    expect(await admit(1)).toBe(LimitName.CONCURRENCY);
    await settle(0, running);
    expect(await admit(0)).toBe('r7');
  });

  it('forgets leases of requests that ended before', async () => {
    const { admit, settle, goAway } = await replicasOf(2);
    await settle(0, await admit(0));
    await settle(0, await admit(0));
    goAway(0);
    // It holds 2 of 6 slots, and 4 are free.
    expect([await admit(0), await admit(0)]).toEqual(['r3', 'r4']);
    expect(await admit(0)).toBe(LimitName.GROUP_REQUESTS_PER_MINUTE);
  });

  it('returns the slot that the remote gave to a request that is refused a reservation meanwhile', async () => {
    const { admit, reserve, read, goAway, comeBack } = await replicasOf(2);
    const [kept, refused] = [await admit(0), await admit(0)];
    goAway(0);
    expect(await reserve(0, refused, 51)).toBe(LimitName.BUDGET);
    expect(await reserve(0, kept, 50)).toBeUndefined();
    const alone = await admit(0);
    expect(await reserve(0, alone, 51)).toBe(LimitName.BUDGET);
    await comeBack();
    expect((await read()).slots).toBe(1);
  });

  it('does not take a slot again that another replica returned', async () => {
    const { state, admit, reserve, read } = await replicasOf(2);
    const refused = await admit(0);
    expect((await read()).slots).toBe(1);
    expect(await reserve(0, 'another', 1)).toBeUndefined();
    expect(await reserve(1, refused, 100)).toBe(LimitName.BUDGET);
    state.isNew = true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await read()).slots).toBe(0);
  });

  it('keeps what is renewed meanwhile, and gives the rest back after 15 seconds', async () => {
    const { time, replicas, admit, goAway } = await replicasOf(2);
    const [kept, lost] = [await admit(0), await admit(0)];
    goAway(0);
    time.advanceMs(14_999);
    expect(await admit(0)).toBe(LimitName.CONCURRENCY);
    await replicas[0]?.renew([held(`${kept}`)]);
    time.advanceMs(1);
    expect(lost).toBe('r2');
    expect(await admit(0)).toBe('r4');
    expect(await admit(0)).toBe(LimitName.CONCURRENCY);
    for (let n = 0; n < 5; n++) {
      time.advanceMs(14_000);
      await replicas[0]?.renew([held(`${kept}`)]);
    }
    // The slots are free again, and one of the two leases.
    expect(await admit(0)).toBe('r6');
    expect(await admit(0)).toBe(LimitName.CONCURRENCY);
  });

  it('renews at the remote while that answers', async () => {
    const { time, replicas, admit, read } = await replicasOf(1);
    const requestId = `${await admit(0)}`;
    time.advanceMs(14_000);
    await replicas[0]?.renew([held(requestId)]);
    time.advanceMs(14_000);
    expect((await read()).running).toBe(1);
  });

  it('goes on from what it had reserved and spent, and settles it when the remote is back', async () => {
    const { admit, reserve, settle, read, goAway, comeBack } = await replicasOf(2);
    const [one, two] = [await admit(0), await admit(0)];
    expect(await reserve(0, one, 30)).toBeUndefined();
    await settle(0, one, { tokens: 5, costMicros: 20 });
    expect(await reserve(0, two, 25)).toBeUndefined();
    expect(await read()).toMatchObject({ running: 1, tokens: 5, money: [20, 25] });
    goAway(0, 1);
    // Its share is half of the 80 that were left, and 25 of them are reserved.
    const three = await admit(0);
    expect(await reserve(0, three, 16)).toBe(LimitName.BUDGET);
    expect(await reserve(0, three, 15)).toBeUndefined();
    await settle(0, two, { tokens: 7, costMicros: 10 });
    await settle(0, three, { costMicros: 15 });
    await comeBack();
    expect(await read()).toMatchObject({ running: 0, tokens: 12, money: [45, 0] });
  });

  it('lets no request cross a budget of which other replicas may spend a part', async () => {
    const { admit, reserve, settle, goAway, comeBack } = await replicasOf(2);
    const [one, other] = [await admit(0), await admit(1)];
    goAway(0, 1);
    expect([await reserve(0, one, 51), await reserve(1, other, 51)]).toEqual([LimitName.BUDGET, LimitName.BUDGET]);
    await comeBack();
    const again = await admit(0);
    expect(await reserve(0, again, 101)).toBeUndefined();
    await settle(0, again, { costMicros: 101 });
    expect(await admit(1)).toBe(LimitName.BUDGET);
  });

  it('lets a request cross a budget of which it alone may spend', async () => {
    const { admit, reserve, settle, goAway } = await replicasOf(1);
    goAway(0);
    const crossing = await admit(0);
    expect(await reserve(0, crossing, 101)).toBeUndefined();
    expect(await admit(0)).toBe(LimitName.BUDGET);
    await settle(0, crossing, { costMicros: 99 });
    expect(await reserve(0, await admit(0), 50)).toBeUndefined();
  });

  it('refuses what a budget must pay that this replica never saw, shortly, and reserves nothing of it', async () => {
    const { replicas, goAway } = await replicasOf(1);
    const [limits = expect.fail('there is one')] = replicas;
    goAway(0);
    const unseen = { key: 'unseen', limits: group.limits };
    const asked = { key: 'k', group: unseen, requestId: 'r', costKind: CostKind.REQUEST_AND_TOKENS, limits: {} };
    const { refusal, groupStatus } = await limits.admit(asked);
    expect(refusal).toMatchObject({ limit: LimitName.BUDGET, retryAfterMs: 3_000 });
    expect(groupStatus?.budget).toBeUndefined();
    const reserved = await limits.reserve({ key: 'k', group: unseen, requestId: 'r', localDay, costMicros: 1 });
    expect(reserved).toMatchObject({ limit: LimitName.BUDGET, retryAfterMs: 3_000 });
  });

  it('takes back the slot and lease of a request whose reservation the remote refuses', async () => {
    const { admit, reserve, read, goAway } = await replicasOf(1);
    expect(await reserve(0, 'another', 1)).toBeUndefined();
    expect(await reserve(0, await admit(0), 100)).toBe(LimitName.BUDGET);
    expect(await read()).toMatchObject({ slots: 0, running: 0 });
    goAway(0);
    // One of the four leases is held by the request that has reserved.
    for (const request of ['r2', 'r3', 'r4', LimitName.CONCURRENCY]) expect(await admit(0)).toBe(request);
  });

  it('hands over the slots that were taken meanwhile, without those of refused reservations', async () => {
    const { admit, reserve, read, goAway, comeBack } = await replicasOf(1);
    goAway(0);
    expect([await admit(0), await admit(0), await admit(0)]).toEqual(['r1', 'r2', 'r3']);
    expect(await reserve(0, 'r1', 1)).toBeUndefined();
    expect(await reserve(0, 'r2', 100)).toBe(LimitName.BUDGET);
    await comeBack();
    expect((await read()).slots).toBe(2);
  });

  it('needs the consent of its share and of the remote until the other replicas are back', async () => {
    const { admit, settle, goAway, comeBack } = await replicasOf(2);
    goAway(0, 1);
    for (const replica of [0, 1]) await settle(replica, await admit(replica));
    await comeBack();
    // Shares of 3 slots and of 2 leases, with one slot each taken.
    expect([await admit(0), await admit(0)]).toEqual(['r3', 'r4']);
    expect(await admit(0)).toBe(LimitName.GROUP_REQUESTS_PER_MINUTE);
  });
});
