import { ManualClock } from '@gateway/time';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LimiterEvents } from '../limiter-events.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';
import {
  OutageTolerantStore,
  type OutageTolerantStoreOptions,
  type RemoteLimitStore,
} from './outage-tolerant-store.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const today = '2026-11-20';

/** A remote store in memory that a test takes away. */
class FlakyStore extends MemoryLimitStore implements RemoteLimitStore {
  away: 'no' | 'before the call' | 'after the call' = 'no';

  override admit(...[check]: Parameters<MemoryLimitStore['admit']>) {
    return this.#unlessAway(() => super.admit(check));
  }
  override settle(...[settlement]: Parameters<MemoryLimitStore['settle']>) {
    return this.#unlessAway(() => super.settle(settlement));
  }
  override peek(...[question]: Parameters<MemoryLimitStore['peek']>) {
    return this.#unlessAway(() => super.peek(question));
  }
  override rememberDayBase(...[key, day, tokens]: Parameters<MemoryLimitStore['rememberDayBase']>) {
    return this.#unlessAway(() => super.rememberDayBase(key, day, tokens));
  }
  start() {
    return this.probe();
  }
  probe() {
    return this.#unlessAway(async () => undefined);
  }

  async #unlessAway<T>(call: () => Promise<T>): Promise<T> {
    if (this.away === 'before the call') throw new Error('away');
    const answer = await call();
    if (this.away === 'after the call') throw new Error('answer lost');
    return answer;
  }
}

function watchedEvents() {
  return {
    decided: vi.fn<LimiterEvents['decided']>(),
    degraded: vi.fn<LimiterEvents['degraded']>(),
    outageBegan: vi.fn<LimiterEvents['outageBegan']>(),
    outageEnded: vi.fn<LimiterEvents['outageEnded']>(),
    settlesPending: vi.fn<LimiterEvents['settlesPending']>(),
    settleDropped: vi.fn<LimiterEvents['settleDropped']>(),
    dayTotalLoadFailed: vi.fn<LimiterEvents['dayTotalLoadFailed']>(),
    dayCorrected: vi.fn<LimiterEvents['dayCorrected']>(),
  };
}

describe('a store whose remote goes away', () => {
  let clock: ManualClock;
  let remote: FlakyStore;
  let store: OutageTolerantStore;
  let events: ReturnType<typeof watchedEvents>;

  const open = (options: Partial<OutageTolerantStoreOptions> = {}) =>
    new OutageTolerantStore({
      remote,
      local: new MemoryLimitStore({ clock, maxKeys: 100 }),
      clock,
      events,
      failureMode: 'local',
      localMaxMs: 3_600_000,
      maxKept: 10,
      ...options,
    });
  const question = (tokensPerDay: number | undefined = 100) => ({
    key: 'key',
    limits: { requestsPerMinute: 3, tokensPerDay },
    dayBase: () => 0,
  });
  const admit = (requestId: string) => store.admit({ ...question(), requestId, costKind: 'request_and_tokens' });
  const settle = (requestId: string, tokens: number, dayBase: () => number | undefined = () => 0) =>
    store.settle({ key: 'key', requestId, localDay: today, tokens, dayBase });
  const usedIn = async (asked: { peek: MemoryLimitStore['peek'] }) => {
    const answer = await asked.peek(question());
    return answer.kind === 'status' ? 100 - (answer.status.tokens?.remaining ?? 0) : answer.kind;
  };

  beforeEach(() => {
    vi.useFakeTimers();
    clock = new ManualClock(noonMs);
    remote = new FlakyStore({ clock, maxKeys: 100 });
    events = watchedEvents();
    store = open();
  });
  afterEach(async () => {
    remote.away = 'no';
    await store[Symbol.asyncDispose]();
    vi.useRealTimers();
  });

  it('holds keys to their limits from windows of its own, and says so', async () => {
    remote.away = 'before the call';
    const decisions = await Promise.all(['a', 'b', 'c', 'd'].map(admit));
    expect(decisions.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted', 'refused']);
    expect(decisions[3]).toMatchObject({ status: { degraded: true } });
    expect(events.degraded).toHaveBeenCalledTimes(4);
    expect(events.outageBegan).toHaveBeenCalledExactlyOnceWith('away');
  });

  it('goes back by itself when the remote answers again', async () => {
    remote.away = 'before the call';
    await admit('a');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await admit('b')).toMatchObject({ status: { degraded: true } });
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await admit('c')).toMatchObject({ status: { degraded: false } });
    expect(events.outageEnded).toHaveBeenCalledTimes(1);
  });

  it('opens no fresh window for each of several outages', async () => {
    let admitted = 0;
    for (let n = 0; n < 5; n++) {
      remote.away = 'before the call';
      for (const requestId of [`a${n}`, `b${n}`]) if ((await admit(requestId)).kind === 'admitted') admitted += 1;
      remote.away = 'no';
      await vi.advanceTimersByTimeAsync(250);
    }
    expect(admitted).toBe(3);
  });

  it('starts from the day total that it saw last', async () => {
    await settle('a', 60);
    await admit('b');
    remote.away = 'before the call';
    expect(await admit('c')).toMatchObject({ kind: 'admitted', status: { tokens: { remaining: 40 } } });
    await settle('c', 40);
    expect(await admit('d')).toMatchObject({ kind: 'refused', refusal: { limit: 'tokens_per_day' } });
  });

  it('starts from the newest total in a second outage of the day', async () => {
    remote.away = 'before the call';
    await settle('a', 10);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    await settle('b', 50);
    remote.away = 'before the call';
    expect(await admit('c')).toMatchObject({ status: { degraded: true, tokens: { remaining: 40 } } });
  });

  it('tells the remote every settle of the outage, once', async () => {
    remote.away = 'after the call';
    await settle('applied', 10);
    remote.away = 'before the call';
    await settle('b', 20);
    await settle('b', 20);
    expect(events.settlesPending).toHaveBeenLastCalledWith(2);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(remote)).toBe(30);
    expect(events.settlesPending).toHaveBeenLastCalledWith(0);
  });

  it('tells the settles of an outage as pending when the remote came back without its memory: the ledger may have them', async () => {
    remote.away = 'before the call';
    await settle('a', 20, () => undefined);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    await remote.rememberDayBase('key', today, 20);
    expect(await usedIn(remote)).toBe(40);
    const begun = await store.beginReconciliation('key', today, { pauseMs: 1 });
    expect(begun?.pendingIds).toEqual(['a']);
    await store.finishReconciliation('key', today, begun?.ticket ?? '', { totalTokens: 20, includedIds: ['a'] });
    expect(await usedIn(remote)).toBe(20);
  });

  it('keeps only so many settles, and counts those it gives up', async () => {
    remote.away = 'before the call';
    for (let n = 0; n < 13; n++) await settle(String(n), 1);
    expect(events.settleDropped).toHaveBeenCalledTimes(3);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(remote)).toBe(10);
  });

  it('fails after it decided alone for too long', async () => {
    await store.start();
    remote.away = 'before the call';
    await admit('a');
    clock.advanceMs(3_600_000);
    expect(await admit('b')).toMatchObject({ kind: 'admitted' });
    expect(store.notReady()).toBeUndefined();
    clock.advanceMs(1);
    await expect(admit('c')).rejects.toMatchObject({ code: 'internal_error' });
    expect(store.notReady()).toContain('away');
  });

  it('fails at once when told to, and loses no settle', async () => {
    store = open({ failureMode: 'closed' });
    remote.away = 'before the call';
    await expect(admit('a')).rejects.toMatchObject({ code: 'internal_error' });
    await expect(settle('a', 5)).resolves.toMatchObject({ usedTokens: 5 });
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(store)).toBe(5);
  });

  it('is not ready before it reached the remote once, and stays ready without it afterwards', async () => {
    remote.away = 'before the call';
    await store.start();
    expect(store.notReady()).toContain('not been reached');
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(store.notReady()).toBeUndefined();
    remote.away = 'before the call';
    await admit('a');
    expect(store.notReady()).toBeUndefined();
  });
});
