import { MemoryLimitStore, type RemoteLimits } from '@gateway/limits';
import { CostKind } from '@gateway/proto/limiter/v2/limit_pb.js';
import { createLogger, Metrics } from '@gateway/telemetry';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readStandAloneLimiterConfig } from '../config.ts';
import { openSharedLimitStore, SharedLimitStore } from './shared-limit-store.ts';

const isAwayError = {
  name: 'GatewayError',
  code: 'providers_unavailable',
  message: expect.stringContaining('Redis does not answer'),
  retryAfterMs: 1_000,
};

describe('the store that limiters share', () => {
  const logger = createLogger('limiter', 'silent');
  let redis: MemoryLimitStore;
  let metrics: Metrics;
  let store: SharedLimitStore;
  let calls: number;
  /** Which calls fail. */
  let isAway: (call: string) => boolean;

  const open = () => new SharedLimitStore(flaky(), { logger, metrics });
  /** Redis of this test, of which some calls fail. */
  const flaky = () =>
    new Proxy(redis, {
      get: (target, name: keyof RemoteLimits) => {
        const call = Reflect.get(target, name);
        if (typeof call !== 'function') return undefined;
        return async (...given: unknown[]) => {
          calls += 1;
          if (isAway(name)) throw new Error('ECONNREFUSED');
          return Reflect.apply(call, target, given);
        };
      },
    });
  const admit = (requestId = 'r') =>
    store.admit({ key: 'k', requestId, limits: { requestsPerMinute: 3 }, costKind: CostKind.REQUEST_AND_TOKENS });
  const beat = async (lastAnsweredAtMs?: number, replicaId = 'e') =>
    store.heartbeat({ group: 'edge', replicaId, admissions: [], lastAnsweredAtMs });
  const read = async (name: string) =>
    (await metrics.registry.getSingleMetric(`gateway_limiter_${name}`)?.get())?.values[0]?.value;
  const outages = async () => [await read('store_outages_total'), await read('store_away')];

  beforeEach(async () => {
    vi.useFakeTimers();
    vi.restoreAllMocks();
    redis = new MemoryLimitStore({ maxKeys: 100 });
    metrics = new Metrics();
    [calls, isAway] = [0, () => false];
    store = open();
    await store.start();
  });
  afterEach(() => {
    store[Symbol.dispose]();
    vi.useRealTimers();
  });

  it('passes on what Redis answers', async () => {
    expect((await admit()).status?.requests?.remaining).toBe(2);
    const settlement = { key: 'k', requestId: 'r', localDay: '2026-11-20', tokens: 7 };
    expect(await store.settle(settlement)).toMatchObject({ usedTokens: 7 });
    expect(await beat()).toMatchObject({ replicas: 1, position: 0, isNew: true });
    expect(await outages()).toEqual([0, 0]);
  });

  it('fails each call while Redis is away, at once, and says how long to wait', async () => {
    isAway = () => true;
    await expect(admit()).rejects.toMatchObject(isAwayError);
    const before = calls;
    await expect(admit()).rejects.toMatchObject(isAwayError);
    expect(calls).toBe(before);
    await expect(beat()).rejects.toMatchObject(isAwayError);
    expect(await outages()).toEqual([1, 1]);
  });

  it('finds an outage without calls, and its end', async () => {
    isAway = () => true;
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await outages()).toEqual([1, 1]);
    isAway = () => false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await outages()).toEqual([1, 0]);
  });

  it('answers again with the first heartbeat of anyone that succeeds', async () => {
    isAway = () => true;
    await expect(admit()).rejects.toMatchObject(isAwayError);
    isAway = () => false;
    await beat();
    expect((await admit()).refusal).toBeUndefined();
    isAway = (call) => call === 'admit';
    await expect(admit('s')).rejects.toMatchObject(isAwayError);
    isAway = () => false;
    await vi.advanceTimersByTimeAsync(250);
    expect((await admit('s')).refusal).toBeUndefined();
  });

  it('says in the log, once each, that an outage began and ended, though some calls succeed in between', async () => {
    const [warn, info] = [vi.spyOn(logger, 'warn'), vi.spyOn(logger, 'info')];
    isAway = (call) => call === 'admit';
    for (let n = 0; n < 10; n++) {
      await expect(admit()).rejects.toMatchObject(isAwayError);
      await vi.advanceTimersByTimeAsync(250);
    }
    expect(warn.mock.calls).toEqual([[{ reason: 'ECONNREFUSED' }, expect.stringContaining('decide for themselves')]]);
    isAway = () => false;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(info.mock.calls).toEqual([[{ outage_ms: 2_250 }, expect.stringContaining('answers again')]]);
    expect(await outages()).toEqual([1, 0]);
  });

  it('is not ready before it reached Redis once, and stays ready without it afterwards', async () => {
    store[Symbol.dispose]();
    store = open();
    isAway = () => true;
    await store.start();
    expect(store.notReady()).toContain('not been reached');
    await expect(admit()).rejects.toMatchObject(isAwayError);
    isAway = () => false;
    await vi.advanceTimersByTimeAsync(250);
    expect(store.notReady()).toBeUndefined();
    isAway = () => true;
    await expect(admit()).rejects.toMatchObject(isAwayError);
    expect(store.notReady()).toBeUndefined();
  });

  it('tells each replica once that Redis may have lost what it admitted, until the replica has heard it', async () => {
    const first = await beat();
    expect((await beat(first?.answeredAtMs))?.isNew).toBe(false);
    store.noteReconnected();
    await vi.advanceTimersByTimeAsync(10);
    const told = await beat(first?.answeredAtMs);
    expect(told?.isNew).toBe(true);
    await vi.advanceTimersByTimeAsync(10);
    // Its answer was lost.
    expect((await beat(first?.answeredAtMs))?.isNew).toBe(true);
    expect((await beat(told?.answeredAtMs))?.isNew).toBe(false);
    await beat(undefined, 'other');
    expect((await beat(told?.answeredAtMs))?.isNew).toBe(false);
  });

  it('tells no one of a reconnection of ten seconds ago: who was silent for so long is new anyway', async () => {
    const first = await beat();
    store.noteReconnected();
    expect(store.mayLackTotals).toBe(true);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(store.mayLackTotals).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    await beat(undefined, 'other');
    expect([store.mayLackTotals, (await beat(first?.answeredAtMs))?.isNew]).toEqual([false, true]);
    expect((await beat(Date.now()))?.isNew).toBe(false);
  });

  it('asks nothing more when it is closed', async () => {
    isAway = () => true;
    await expect(admit()).rejects.toMatchObject(isAwayError);
    store[Symbol.dispose]();
    const before = calls;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([calls, vi.getTimerCount()]).toEqual([before, 0]);
  });

  it('starts while its server does not answer, and is not ready until it reached it', async () => {
    vi.useRealTimers();
    const warn = vi.spyOn(logger, 'warn');
    metrics = new Metrics();
    await using resources = new AsyncDisposableStack();
    const config = readStandAloneLimiterConfig({ REDIS_URL: 'redis://127.0.0.1:1' });
    const opened = openSharedLimitStore(config, { logger, metrics }, resources);
    await opened.start?.();
    expect(opened.notReady?.()).toContain('not been reached');
    expect(warn).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('Redis does not answer'));
    expect(await metrics.exposition()).toContain('gateway_limiter_store_away 1\n');
  });
});
