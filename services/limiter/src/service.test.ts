import type { Service } from '@gateway/lifecycle';
import { CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import { LimiterOperatorService, LimiterService } from '@gateway/proto/limiter/v2/limiter_service_pb.js';
import { type Client, directClient, directClientOf, type ServiceRoute } from '@gateway/rpc';
import { createLogger, Metrics } from '@gateway/telemetry';
import { ManualTime } from '@gateway/time/simulated';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readLimiterConfig } from './config.ts';
import { createLimiterFromEnvironment, createLimiterService, type LimiterPeers } from './service.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const today = '2026-11-20';

describe('the limiter service', () => {
  let time: ManualTime;
  let metrics: Metrics;
  let service: Service;
  let limiter: Client<typeof LimiterService>;

  function open(peers: LimiterPeers = {}) {
    metrics = new Metrics();
    service = createLimiterService(readLimiterConfig({}), peers, {
      logger: createLogger('limiter', 'silent'),
      metrics,
    });
    const [route] = service.routes;
    if (route?.service !== LimiterService) throw new Error('no route');
    limiter = directClient(route as ServiceRoute<typeof LimiterService>);
  }
  beforeEach(() => {
    time = new ManualTime(noonMs);
    open();
  });
  afterEach(() => time[Symbol.dispose]());

  const operator = () => directClientOf(service.routes, LimiterOperatorService);
  const valid = { key: 'token:1', requestId: 'a', limits: { requestsPerMinute: 2, tokensPerDay: 100 } };

  it('admits, settles and peeks', async () => {
    const { status, refusal } = await limiter.admit(valid);
    expect(refusal).toBeUndefined();
    expect(status).toMatchObject({ localDay: today, degraded: false });
    expect(status?.requests).toMatchObject({ limit: 2, remaining: 1 });
    expect(status?.requests?.emptyAtMs).toBe(noonMs + 60_000);
    expect(status?.tokens).toMatchObject({ limit: 100, remaining: 100 });
    expect((await limiter.settle({ ...valid, localDay: today, tokens: 70 })).usedTokens).toBe(70);
    expect((await limiter.peek(valid)).status?.tokens?.remaining).toBe(30);
  });

  it('refuses with an answer, not with an error', async () => {
    const limits = { requestsPerMinute: 1 };
    await limiter.admit({ ...valid, limits });
    const { refusal, status } = await limiter.admit({ ...valid, requestId: 'b', limits });
    expect(refusal?.limit).toBe(LimitName.REQUESTS_PER_MINUTE);
    expect(refusal?.retryAtMs).toBe(noonMs + 60_000);
    expect(status?.requests?.remaining).toBe(0);
    const never = await limiter.admit({ ...valid, requestId: 'c', limits: { requestsPerMinute: 0 } });
    expect(never.refusal?.retryAtMs).toBe(noonMs + 60_000);
  });

  it('admits what has no limits and keeps nothing of it', async () => {
    for (const limits of [undefined, {}]) {
      const { status, refusal } = await limiter.admit({ ...valid, limits });
      expect(refusal).toBeUndefined();
      expect(status?.localDay).toBe(today);
      expect([status?.requests, status?.tokens]).toEqual([undefined, undefined]);
    }
    expect((await limiter.peek(valid)).status?.requests?.remaining).toBe(2);
  });

  it('never holds request-only costs to the day budget', async () => {
    const limits = { tokensPerDay: 0 };
    expect((await limiter.admit({ ...valid, limits })).refusal?.limit).toBe(LimitName.TOKENS_PER_DAY);
    expect((await limiter.admit({ ...valid, limits, costKind: CostKind.REQUEST_ONLY })).refusal).toBeUndefined();
  });

  it('decides batches in order', async () => {
    async function* batches() {
      yield { checks: ['a', 'b', 'c'].map((requestId) => ({ ...valid, requestId })) };
      yield { checks: [{ ...valid, key: 'token:2' }] };
    }
    const answers = await Array.fromAsync(limiter.admitStream(batches()));
    const outcomes = answers.map(({ decisions }) => decisions.map(({ refusal }) => refusal === undefined));
    expect(outcomes).toEqual([[true, true, false], [true]]);
  });

  it('ends the streams of batches when it drains', async () => {
    async function* oneThenSilence() {
      yield { checks: [valid] };
      await new Promise(() => undefined);
    }
    const answers = limiter.admitStream(oneThenSilence())[Symbol.asyncIterator]();
    expect((await answers.next()).done).toBe(false);
    await service.drain?.(1_000);
    expect((await answers.next()).done).toBe(true);
  });

  it.each([
    { name: 'no key', change: { key: '' } },
    { name: 'a long key', change: { key: 'é'.repeat(101) } },
    { name: 'no request id', change: { requestId: '' } },
    { name: 'a long request id', change: { requestId: 'x'.repeat(101) } },
    { name: 'a negative limit', change: { limits: { tokensPerDay: -1 } } },
    { name: 'a limit beyond exact numbers', change: { limits: { tokensPerDay: 2 ** 53 } } },
    { name: 'an unknown cost kind', change: { costKind: 9 } },
  ])('rejects an admission with $name', async ({ change }) => {
    await expect(limiter.admit({ ...valid, ...change })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    { name: 'negative tokens', change: { tokens: -1 } },
    { name: 'a day that does not exist', change: { localDay: '2026-02-30' } },
    { name: 'no day', change: { localDay: '' } },
    { name: 'a day to come', change: { localDay: '2026-11-22' } },
  ])('rejects a settle with $name', async ({ change }) => {
    const settle = { ...valid, localDay: today, tokens: 1, ...change };
    await expect(limiter.settle(settle)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('takes the largest key and request id', async () => {
    const largest = { ...valid, key: 'é'.repeat(100), requestId: 'x'.repeat(100) };
    expect((await limiter.admit(largest)).refusal).toBeUndefined();
  });

  it('keeps nothing of a day that is long over', async () => {
    const settle = { ...valid, localDay: '2026-11-18', tokens: 9 };
    expect((await limiter.settle(settle)).usedTokens).toBe(9);
    expect((await limiter.settle({ ...settle, requestId: 'b' })).usedTokens).toBe(9);
  });

  it('counts its decisions', async () => {
    for (const requestId of ['a', 'b', 'c']) await limiter.admit({ ...valid, requestId });
    const counted = await metrics.registry.getSingleMetric('gateway_limiter_decisions_total')?.get();
    expect(counted?.values.map(({ labels, value }) => [labels.decision, value])).toEqual([
      ['admitted', 2],
      ['requests_per_minute', 1],
      ['tokens_per_day', 0],
      ['group_requests_per_minute', 0],
      ['group_tokens_per_day', 0],
      ['budget', 0],
      ['concurrency', 0],
    ]);
  });

  it('says which variable it lacks when it runs by itself', async () => {
    const runtime = { logger: createLogger('limiter', 'silent'), metrics };
    await expect(createLimiterFromEnvironment({}, runtime)).rejects.toThrow('REDIS_URL');
  });

  it('names the Redis that it waits for', async () => {
    const runtime = { logger: createLogger('limiter', 'silent'), metrics: new Metrics() };
    await using service = await createLimiterFromEnvironment({ REDIS_URL: 'redis://:canary@127.0.0.1:9' }, runtime);
    await service.start();
    expect(await service.notReady()).toBe(
      'the shared store has not been reached yet: Redis at 127.0.0.1:9 (REDIS_URL)',
    );
  });

  describe('with a usage ledger', () => {
    const getGroupTotal = vi.fn<NonNullable<LimiterPeers['usageQuery']>['getGroupTotal']>();
    const getDayTotal = vi.fn<NonNullable<LimiterPeers['usageQuery']>['getDayTotal']>();
    const total = (totalTokens: number, includedRequestIds: string[] = []) => ({
      $typeName: 'gateway.usage.v1.GetDayTotalResponse' as const,
      totalTokens,
      includedRequestIds,
    });
    beforeEach(() => {
      getDayTotal.mockReset();
      open({ usageQuery: { getDayTotal, getGroupTotal } });
    });

    it('loads a token’s day total once, before it judges the budget', async () => {
      getDayTotal.mockResolvedValue(total(100));
      const answers = await Promise.all(['a', 'b'].map((requestId) => limiter.admit({ ...valid, requestId })));
      expect(answers.map(({ refusal }) => refusal?.limit)).toEqual([
        LimitName.TOKENS_PER_DAY,
        LimitName.TOKENS_PER_DAY,
      ]);
      await limiter.peek(valid);
      expect(getDayTotal).toHaveBeenCalledExactlyOnceWith(
        { tokenId: '1', localDay: today, requestIds: [] },
        { timeoutMs: 10_000 },
      );
    });

    it('keeps what is settled while the total is being loaded', async () => {
      const loading = Promise.withResolvers<ReturnType<typeof total>>();
      getDayTotal.mockReturnValue(loading.promise);
      const admission = limiter.admit(valid);
      const settling = limiter.settle({ ...valid, requestId: 'other', localDay: today, tokens: 30 });
      loading.resolve(total(50));
      expect((await settling).usedTokens).toBe(80);
      expect((await admission).status?.tokens?.remaining).toBe(20);
      expect(getDayTotal).toHaveBeenCalledTimes(1);
    });

    it('counts from zero while the ledger fails, and from its total once it answers', async () => {
      getDayTotal.mockRejectedValueOnce(new Error('down')).mockResolvedValue(total(95));
      expect((await limiter.admit(valid)).status?.tokens?.remaining).toBe(100);
      await limiter.settle({ ...valid, localDay: today, tokens: 2 });
      time.advanceMs(1_000);
      expect((await limiter.admit({ ...valid, requestId: 'b' })).status?.tokens?.remaining).toBe(3);
      const failures = await metrics.registry.getSingleMetric('gateway_limiter_day_total_load_failures_total')?.get();
      expect(failures?.values[0]?.value).toBe(1);
    });

    it('puts a counter right that counts what the ledger has by now, and what it has not', async () => {
      getDayTotal.mockResolvedValue(total(50));
      await service.start();
      await limiter.settle({ ...valid, requestId: 'a', localDay: today, tokens: 30 });
      await limiter.settle({ ...valid, requestId: 'b', localDay: today, tokens: 5 });
      // 30 of the 50 loaded tokens belong to the request itself: the ledger was faster.
      getDayTotal.mockResolvedValue(total(50, ['a']));
      expect((await limiter.peek(valid)).status?.tokens?.remaining).toBe(15);
      time.advanceMs(1_000);
      await limiter.admit(valid);
      const remaining = async () => (await limiter.peek(valid)).status?.tokens?.remaining;
      await expect.poll(remaining).toBe(45);
      expect(getDayTotal).toHaveBeenLastCalledWith(
        { tokenId: '1', localDay: today, requestIds: ['a', 'b'] },
        { timeoutMs: 5_000 },
      );
      const corrected = await metrics.registry.getSingleMetric('gateway_limiter_day_corrections_total')?.get();
      expect(corrected?.values[0]?.value).toBe(1);
    });

    it('lets an operator have a counter compared at once', async () => {
      getDayTotal.mockResolvedValue(total(10));
      await limiter.settle({ ...valid, localDay: today, tokens: 7 });
      getDayTotal.mockResolvedValue(total(3));
      const request = { key: valid.key, localDay: today };
      expect(await operator().reconcileDay(request)).toMatchObject({
        usedTokensBefore: 17,
        usedTokensAfter: 10,
        pendingTokens: 7,
      });
      await expect(operator().reconcileDay({ ...request, key: 'tenant:1' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      await expect(operator().reconcileDay({ ...request, localDay: '2026-11-01' })).rejects.toMatchObject({
        code: 'invalid_request',
      });
      getDayTotal.mockRejectedValue(new Error('down'));
      await expect(operator().reconcileDay(request)).rejects.toMatchObject({ code: 'internal_error' });
    });

    it('does not take a key that no ledger can know for a ledger that fails', async () => {
      getDayTotal.mockResolvedValue(total(95));
      for (const key of ['token:', 'token:\0', 'token:é'])
        expect((await limiter.admit({ ...valid, key })).status?.tokens?.remaining).toBe(100);
      expect(getDayTotal).not.toHaveBeenCalled();
      expect((await limiter.admit(valid)).status?.tokens?.remaining).toBe(5);
    });

    it('asks it for no other keys, and for no key without a day budget', async () => {
      expect((await limiter.admit({ ...valid, key: 'tenant:1' })).refusal).toBeUndefined();
      await limiter.settle({ ...valid, key: 'tenant:1', localDay: today, tokens: 3 });
      expect((await limiter.admit({ ...valid, limits: { requestsPerMinute: 1 } })).refusal).toBeUndefined();
      expect(getDayTotal).not.toHaveBeenCalled();
    });

    describe('and a token that makes no call any more', () => {
      const limits = { tokensPerDay: 1_000 };
      /** The counter's value, read without asking the limiter. */
      const lastCorrection = async () =>
        (await metrics.registry.getSingleMetric('gateway_limiter_day_corrections_total')?.get())?.values[0]?.value;
      beforeEach(async () => {
        vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
        getDayTotal.mockResolvedValue(total(0));
        await service.start();
      });
      afterEach(async () => {
        await service[Symbol.asyncDispose]();
        vi.useRealTimers();
      });

      /** Lets this much time pass without a call. */
      async function idle(seconds: number): Promise<void> {
        for (let n = 0; n < seconds; n++) {
          time.advanceMs(1_000);
          await vi.advanceTimersByTimeAsync(1_000);
        }
      }
      const used = async () => 1_000 - ((await limiter.peek({ ...valid, limits })).status?.tokens?.remaining ?? 0);

      it('counts what the ledger got although its edge was killed before it could settle', async () => {
        await limiter.admit({ ...valid, limits });
        getDayTotal.mockResolvedValue(total(162));
        await idle(11);
        expect(await lastCorrection()).toBe(1);
        expect(await used()).toBe(162);
      });

      it('counts what was on its way to the ledger when a store that had lost its memory loaded the total', async () => {
        // The request was settled before the loss.
        expect(await used()).toBe(0);
        getDayTotal.mockResolvedValue(total(162));
        await idle(2);
        expect(await used()).toBe(162);
      });

      it('counts what reaches the ledger much later, before as much time has passed again', async () => {
        await limiter.admit({ ...valid, limits });
        await idle(60);
        const asked = getDayTotal.mock.calls.length;
        await idle(240);
        // An idle token causes few reads of the ledger.
        expect(getDayTotal.mock.calls.length - asked).toBeLessThan(12);
        getDayTotal.mockResolvedValue(total(162));
        await idle(100);
        expect(await used()).toBe(162);
      });

      it('is compared again soon after it is read', async () => {
        await limiter.admit({ ...valid, limits });
        await idle(3_600);
        getDayTotal.mockResolvedValue(total(162));
        expect(await used()).toBe(0);
        await idle(11);
        expect(await used()).toBe(162);
      });
    });
  });
});
