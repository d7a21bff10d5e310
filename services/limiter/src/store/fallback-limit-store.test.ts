import { daySpan } from '@gateway/limits';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FlakyStore } from '../../test/flaky-store.ts';
import { PlainStore } from '../../test/plain-store.ts';
import { watchedMetrics } from '../../test/watched-metrics.ts';
import { readStandAloneLimiterConfig } from '../config.ts';
import { FallbackLimitStore, type FallbackLimitStoreOptions, openSharedLimitStore } from './fallback-limit-store.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const today = '2026-11-20';

class PlainFallback extends PlainStore<FallbackLimitStore> {
  start() {
    return this.store.start();
  }

  notReady() {
    return this.store.notReady();
  }

  [Symbol.asyncDispose]() {
    return this.store[Symbol.asyncDispose]();
  }
}

describe('a store whose remote goes away', () => {
  let time: ManualTime;
  let remote: FlakyStore;
  let store: PlainFallback;
  let watched: ReturnType<typeof watchedMetrics>;
  const logger = createLogger('limiter', 'silent');

  const open = (options: Partial<FallbackLimitStoreOptions> = {}) =>
    new PlainFallback(
      new FallbackLimitStore({
        remote,
        metrics: watched.metrics,
        logger,
        leastReplicas: 1,
        failureMode: 'local',
        localMaxMs: 3_600_000,
        maxKept: 10,
        ...options,
      }),
    );
  /** A store that has reached its remote. */
  const started = async (options: Partial<FallbackLimitStoreOptions> = {}) => {
    const opened = open(options);
    await opened.start();
    return opened;
  };
  const question = (tokensPerDay: number | undefined = 100) => ({
    key: 'key',
    limits: { requestsPerMinute: 3, tokensPerDay },
    hasLedger: false,
  });
  const admit = (requestId: string) => store.admit({ ...question(), requestId, costKind: 'request_and_tokens' });
  const settle = (requestId: string, tokens: number, hasLedger = false) =>
    store.settle({ key: 'key', requestId, localDay: today, tokens, hasLedger });
  const usedIn = async (asked: PlainStore) => {
    const answer = await asked.admit({ ...question(), requestId: undefined, costKind: 'request_only' });
    return answer.kind === 'day_total_unknown' ? answer.kind : 100 - (answer.status.tokens?.remaining ?? 0);
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    time = new ManualTime(noonMs);
    remote = new FlakyStore();
    watched = watchedMetrics();
    store = await started();
  });
  afterEach(async () => {
    remote.away = 'no';
    await store[Symbol.asyncDispose]();
    vi.useRealTimers();
    time[Symbol.dispose]();
  });

  it('holds keys to their limits from windows of its own, and says so', async () => {
    remote.away = 'before the call';
    const decisions = await Promise.all(['a', 'b', 'c', 'd'].map(admit));
    expect(decisions.map(({ kind }) => kind)).toEqual(['admitted', 'admitted', 'admitted', 'refused']);
    expect(decisions[3]).toMatchObject({ status: { degraded: true } });
    expect(await watched.valueOf('degraded_total')).toBe(4);
    expect(await watched.valueOf('store_outages_total')).toBe(1);
    expect(await watched.valueOf('store_away')).toBe(1);
  });

  it('says in the log why it decides alone, and for how long it did', async () => {
    const [warn, info] = [vi.spyOn(logger, 'warn'), vi.spyOn(logger, 'info')];
    remote.away = 'before the call';
    await admit('a');
    expect(warn.mock.calls).toEqual([[{ reason: 'away' }, expect.stringContaining('in-memory limits')]]);
    remote.away = 'no';
    time.advanceMs(700);
    await vi.advanceTimersByTimeAsync(250);
    expect(info.mock.calls).toEqual([[{ outage_ms: 700 }, expect.stringContaining('answers again')]]);
  });

  it('compares its own counters with the ledger while the remote is away, but not repeatedly', async () => {
    await admit('a');
    remote.away = 'before the call';
    await settle('a', 30, true);
    expect(await store.pendingIds('key', today, 0)).toEqual(['a']);
    expect(await store.pendingIds('key', today, 9_000)).toBeUndefined();
    const total = { totalTokens: 70, includedIds: ['a'], missingIds: [] };
    expect(await store.reloadDay('key', today, total)).toMatchObject({ usedTokensAfter: 70 });
    expect(await admit('b')).toMatchObject({ status: { degraded: true, tokens: { remaining: 30 } } });
  });

  it('makes no correction by an operator while the remote is away, and says why', async () => {
    remote.away = 'before the call';
    await admit('a');
    const total = { totalTokens: 70, includedIds: [], missingIds: [], force: true };
    await expect(async () => store.reloadDay('key', today, total)).rejects.toMatchObject({
      code: 'internal_error',
      message: expect.stringContaining('shared store is unreachable'),
    });
    expect(await admit('b')).toMatchObject({ status: { degraded: true, tokens: { remaining: 100 } } });
  });

  it('goes back by itself when the remote answers again', async () => {
    remote.away = 'before the call';
    await admit('a');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await admit('b')).toMatchObject({ status: { degraded: true } });
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await admit('c')).toMatchObject({ status: { degraded: false } });
    expect(await watched.valueOf('store_away')).toBe(0);
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

  it('goes on from what it had admitted before, and a repeated request takes no second slot', async () => {
    await admit('a');
    await admit('b');
    remote.away = 'before the call';
    expect(await admit('a')).toMatchObject({ kind: 'admitted', status: { requests: { limit: 3, remaining: 1 } } });
    expect(await admit('c')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 0 } } });
    expect(await admit('d')).toMatchObject({ kind: 'refused', refusal: { retryAtMs: noonMs + 60_000 } });
  });

  it('gives the remote what it admitted, so that no slot is given away twice, even if the remote forgot everything', async () => {
    await admit('a');
    time.advanceMs(10_000);
    remote.away = 'before the call';
    await admit('b');
    remote.forgetEverything();
    remote.away = 'no';
    time.advanceMs(5_000);
    await vi.advanceTimersByTimeAsync(250);
    expect(await admit('c')).toMatchObject({
      kind: 'admitted',
      status: { degraded: false, requests: { remaining: 0, nextSlotAtMs: noonMs + 60_000 } },
    });
    expect(await admit('d')).toMatchObject({ kind: 'refused', status: { degraded: false } });
    expect(await watched.valueOf('handed_over_admissions_total')).toBe(2);
  });

  it('asks the remote nothing before it has given it the last admissions', async () => {
    remote.away = 'before the call';
    await admit('a');
    remote.away = 'no';
    let recordings = 0;
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    remote.beforeRecording = () => gates[recordings++]?.promise;
    await vi.advanceTimersByTimeAsync(250);
    // The store still decides this request alone, during the first part of the hand-over; it is
    // handed over in the second part.
    expect(await admit('b')).toMatchObject({ status: { degraded: true } });
    gates[0]?.resolve();
    await vi.advanceTimersByTimeAsync(0);
    const asked = admit('c');
    gates[1]?.resolve();
    expect(await asked).toMatchObject({ status: { degraded: false, requests: { remaining: 0 } } });
  });

  it('keeps only so many admissions for an outage', async () => {
    remote.forgetEverything();
    store = await started({ maxKept: 2 });
    for (const requestId of ['a', 'b', 'c']) await admit(requestId);
    remote.away = 'before the call';
    expect(await admit('d')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 0 } } });
  });

  it('admits only its part of the limit when it is one of several, and still names the whole limit', async () => {
    const others = [await started(), await started()];
    // Each hears of those that started later with its next heartbeat.
    await vi.advanceTimersByTimeAsync(2_000);
    remote.away = 'before the call';
    const kinds: string[] = [];
    for (const [index, one] of [store, ...others].entries()) {
      store = one;
      for (const requestId of [`a${index}`, `b${index}`]) {
        const decision = await admit(requestId);
        expect(decision).toMatchObject({ status: { requests: { limit: 3, remaining: 0 } } });
        kinds.push(decision.kind);
      }
    }
    expect(kinds).toEqual(['admitted', 'refused', 'admitted', 'refused', 'admitted', 'refused']);
    const none = { ...question(), limits: { requestsPerMinute: 0, tokensPerDay: undefined } };
    expect(await store.admit({ ...none, requestId: 'x', costKind: 'request_and_tokens' })).toMatchObject({
      kind: 'refused',
    });
    for (const one of others) await one[Symbol.asyncDispose]();
  });

  it('admits the part of one of as many as it is set to expect, if it has heard of fewer', async () => {
    remote.forgetEverything();
    store = await started({ leastReplicas: 2 });
    const limits = { requestsPerMinute: 4, tokensPerDay: undefined };
    const check = { ...question(), limits, costKind: 'request_and_tokens' } as const;
    remote.away = 'before the call';
    for (const requestId of ['a', 'b'])
      expect(await store.admit({ ...check, requestId })).toMatchObject({ kind: 'admitted' });
    expect(await store.admit({ ...check, requestId: 'c' })).toMatchObject({ kind: 'refused' });
  });

  it('does not take all of the limit because a remote that came back empty has not heard of the others yet', async () => {
    await using _other = await started();
    await vi.advanceTimersByTimeAsync(2_000);
    remote.away = 'before the call';
    await admit('a');
    remote.forgetEverything();
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    remote.away = 'before the call';
    const kinds = await Promise.all(['b', 'c'].map(async (requestId) => (await admit(requestId)).kind));
    expect(kinds).toContain('refused');
  });

  it('decides nothing before it reached the remote: it knows of no others, and not what it had admitted itself', async () => {
    remote.away = 'before the call';
    store = await started();
    const unavailable = { status: 'unavailable', message: expect.stringContaining('has not been reached yet') };
    await expect(admit('a')).rejects.toMatchObject(unavailable);
    await expect(store.heartbeat('edge', 'e')).rejects.toMatchObject(unavailable);
    await expect(store.recordAdmissions('key', [{ requestId: 'own', ageMs: 0 }])).rejects.toMatchObject(unavailable);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    remote.away = 'before the call';
    expect(await admit('a')).toMatchObject({ kind: 'admitted', status: { degraded: true } });
  });

  it('hands over what a caller admitted by itself, now or with its own', async () => {
    await store.recordAdmissions('key', [{ requestId: 'now', ageMs: 0 }]);
    expect(await admit('a')).toMatchObject({ kind: 'admitted', status: { requests: { remaining: 1 } } });
    remote.away = 'before the call';
    await store.recordAdmissions('key', [{ requestId: 'later', ageMs: 10_000 }]);
    remote.forgetEverything();
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await admit('b')).toMatchObject({
      kind: 'admitted',
      status: { degraded: false, requests: { remaining: 0, nextSlotAtMs: noonMs + 50_000 } },
    });
  });

  it('passes on what a caller hands over to it while it hands over the rest, however old', async () => {
    remote.away = 'before the call';
    await admit('a');
    remote.away = 'no';
    const gate = Promise.withResolvers<void>();
    remote.beforeRecording = () => gate.promise;
    await vi.advanceTimersByTimeAsync(250);
    time.advanceMs(1);
    await store.recordAdmissions('key', [{ requestId: 'old', ageMs: 30_000 }]);
    gate.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await admit('b')).toMatchObject({ status: { degraded: false, requests: { remaining: 0 } } });
  });

  it('knows no places of callers, and keeps its own, while the remote is away', async () => {
    expect(await store.heartbeat('edge', 'e')).toMatchObject({ replicas: 1, position: 0, longestSilenceMs: 0 });
    remote.away = 'before the call';
    await admit('a');
    expect(await store.heartbeat('edge', 'e')).toBeUndefined();
  });

  it('starts from the day total that it saw last', async () => {
    await settle('a', 60);
    await admit('b');
    remote.away = 'before the call';
    expect(await admit('c')).toMatchObject({ kind: 'admitted', status: { tokens: { remaining: 40 } } });
    await settle('c', 40);
    expect(await admit('d')).toMatchObject({ kind: 'refused', refusal: { limit: 'tokens_per_day' } });
  });

  it('starts from a total that was put right downwards, too', async () => {
    await settle('a', 90, true);
    await remote.reload({ key: 'key', span: daySpan(today) }, { totalTokens: 90, includedIds: [], missingIds: ['a'] });
    await admit('b');
    await store.reloadDay('key', today, { totalTokens: 90, includedIds: ['a'], missingIds: [] });
    time.advanceMs(1_000);
    await admit('c');
    remote.away = 'before the call';
    expect(await admit('b')).toMatchObject({ status: { degraded: true, tokens: { remaining: 10 } } });
  });

  it('starts a second outage from the settles of the first', async () => {
    await settle('a', 60);
    remote.away = 'before the call';
    await settle('b', 30);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    remote.away = 'before the call';
    expect(await admit('c')).toMatchObject({ status: { degraded: true, tokens: { remaining: 10 } } });
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

  it('tells the limiters apart from the edges that share it', async () => {
    await using _other = await started();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await remote.heartbeat({ group: 'limiter', replicaId: 'third', admissions: [] })).toMatchObject({
      replicas: 3,
    });
  });

  it('replays every settle of the outage, once', async () => {
    remote.away = 'after the call';
    await settle('applied', 10);
    remote.away = 'before the call';
    await settle('b', 20);
    await settle('b', 20);
    expect(await watched.valueOf('pending_settles')).toBe(2);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(new PlainStore(remote))).toBe(30);
    expect(await watched.valueOf('pending_settles')).toBe(0);
  });

  it('says which settles came late, because the ledger may have their requests', async () => {
    const late: string[] = [];
    store.store.onLateSettle(({ requestId }) => void late.push(requestId));
    await settle('in time', 10);
    remote.away = 'before the call';
    await settle('late', 20);
    expect(late).toEqual([]);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(late).toEqual(['late']);
  });

  it('replays what was settled during the hand-over right after it', async () => {
    remote.away = 'before the call';
    await admit('a');
    remote.away = 'no';
    const gate = Promise.withResolvers<void>();
    remote.beforeRecording = () => gate.promise;
    await vi.advanceTimersByTimeAsync(250);
    await settle('a', 20);
    expect(await watched.valueOf('pending_settles')).toBe(1);
    gate.resolve();
    await vi.advanceTimersByTimeAsync(0);
    expect(await usedIn(new PlainStore(remote))).toBe(20);
    expect(await watched.valueOf('pending_settles')).toBe(0);
  });

  it('replays the settles of an outage as pending when the remote came back without its memory: the ledger may have them', async () => {
    remote.away = 'before the call';
    await settle('a', 20, true);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    await remote.reload({ key: 'key', span: daySpan(today) }, { totalTokens: 20, includedIds: [], missingIds: ['a'] });
    expect(await usedIn(new PlainStore(remote))).toBe(40);
    expect(await store.pendingIds('key', today, 1)).toEqual(['a']);
    await store.reloadDay('key', today, { totalTokens: 20, includedIds: ['a'], missingIds: [] });
    expect(await usedIn(new PlainStore(remote))).toBe(20);
  });

  it('keeps only so many settles, and counts those it gives up', async () => {
    remote.away = 'before the call';
    for (let n = 0; n < 13; n++) await settle(String(n), 1);
    expect(await watched.valueOf('dropped_settles_total')).toBe(3);
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(new PlainStore(remote))).toBe(10);
  });

  it('fails after it decided alone for too long', async () => {
    remote.away = 'before the call';
    await admit('a');
    time.advanceMs(3_600_000);
    expect(await admit('b')).toMatchObject({ kind: 'admitted' });
    expect(store.notReady()).toBeUndefined();
    time.advanceMs(1);
    await expect(admit('c')).rejects.toMatchObject({
      code: 'providers_unavailable',
      message: expect.stringContaining('Try again later'),
    });
    expect(store.notReady()).toContain('away');
  });

  it('fails at once when it is set to, and loses no settle', async () => {
    store = await started({ failureMode: 'closed' });
    remote.away = 'before the call';
    await expect(admit('a')).rejects.toMatchObject({ code: 'providers_unavailable' });
    await expect(settle('a', 5)).resolves.toMatchObject({ usedTokens: 5 });
    remote.away = 'no';
    await vi.advanceTimersByTimeAsync(250);
    expect(await usedIn(store)).toBe(5);
  });

  it('is not ready before it reached the remote once, and stays ready without it afterwards', async () => {
    store = open();
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

describe('the store that limiters share', () => {
  it('starts while its server does not answer, and is not ready until it reached it', async () => {
    const logger = createLogger('limiter', 'silent');
    const warn = vi.spyOn(logger, 'warn');
    const metrics = new Metrics();
    await using resources = new AsyncDisposableStack();
    const config = readStandAloneLimiterConfig({ REDIS_URL: 'redis://127.0.0.1:1' });
    const store = openSharedLimitStore(config, { logger, metrics }, resources);
    await store.start?.();
    expect(store.notReady?.()).toContain('not been reached');
    expect(warn).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('Redis does not answer'));
    expect(await metrics.exposition()).toContain('gateway_limiter_store_away 1\n');
  });
});
