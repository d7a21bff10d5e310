import type { LedgerTotal, LimitStore } from '@gateway/limits';
import { type RedisGroup, startRedisCluster, startRedisSentinels } from '@gateway/testkit/redis-groups';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PlainCostKind as CostKind, PlainLimits as Limits } from './plain-store.ts';
import { redisAt } from './redis-at.ts';
import { openMemoryStore, openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');
const midnightMs = Date.parse('2026-11-20T23:00:00Z');
const today = '2026-11-20';

const groups = new Map<() => Promise<RedisGroup>, Promise<RedisGroup>>();
afterAll(async () => {
  for (const group of groups.values()) await (await group)[Symbol.asyncDispose]();
});

/** Opens stores in one group of servers, which starts with the first store. */
const openIn = (start: () => Promise<RedisGroup>) => async (startMs: number) => {
  const group = groups.get(start) ?? start();
  groups.set(start, group);
  const { url, env } = await group;
  return openRedisStore(startMs, { settings: redisAt(url, env) });
};
const access = { hasTls: true, password: 'p@ss/word' };

describe.each([
  { name: 'memory', open: openMemoryStore },
  { name: 'Redis', open: openRedisStore },
  { name: 'Redis behind Sentinels, with TLS and a password', open: openIn(() => startRedisSentinels(access)) },
  { name: 'a Redis Cluster, with TLS and a password', open: openIn(() => startRedisCluster(access)) },
])('a limit store in $name', ({ open }) => {
  let opened: StoreUnderTest;
  beforeEach(async () => {
    opened = await open(noonMs);
  });
  afterEach(() => opened[Symbol.asyncDispose]());

  interface Asked extends Partial<Limits> {
    readonly costKind?: CostKind;
  }

  const question = ({ requestsPerMinute, tokensPerDay }: Asked) => ({
    key: opened.key,
    limits: { requestsPerMinute, tokensPerDay },
    hasLedger: false,
  });
  const admit = (requestId: string, asked: Asked) =>
    opened.store.admit({ ...question(asked), requestId, costKind: asked.costKind ?? 'request_and_tokens' });
  const peek = (asked: Asked) =>
    opened.store.admit({ ...question(asked), requestId: undefined, costKind: 'request_only' });
  const settle = (requestId: string, tokens: number, other: Partial<Parameters<LimitStore['settle']>[0]> = {}) =>
    opened.store.settle({
      key: opened.key,
      requestId,
      localDay: today,
      tokens,
      hasLedger: false,
      ...other,
    });

  it('counts an admitted request and answers how the window stands after it', async () => {
    expect(await admit('a', { requestsPerMinute: 2 })).toEqual({
      kind: 'admitted',
      status: {
        requests: {
          limit: 2,
          remaining: 1,
          emptyAtMs: noonMs + 60_000,
          nextSlotAtMs: noonMs,
          resetsAtMs: noonMs + 60_000,
        },
        tokens: undefined,
        localDay: today,
        degraded: false,
      },
    });
    opened.time.advanceMs(1_000);
    expect(await admit('b', { requestsPerMinute: 2 })).toMatchObject({
      status: { requests: { remaining: 0, emptyAtMs: noonMs + 61_000, nextSlotAtMs: noonMs + 60_000 } },
    });
  });

  it('refuses at the limit and lets an entry go at exactly 60 seconds', async () => {
    await admit('a', { requestsPerMinute: 1 });
    opened.time.advanceMs(59_999);
    expect(await admit('b', { requestsPerMinute: 1 })).toMatchObject({
      kind: 'refused',
      refusal: { limit: 'requests_per_minute', retryAtMs: noonMs + 60_000 },
      status: { requests: { remaining: 0, emptyAtMs: noonMs + 60_000, nextSlotAtMs: noonMs + 60_000 } },
    });
    opened.time.advanceMs(1);
    expect(await admit('b', { requestsPerMinute: 1 })).toMatchObject({ kind: 'admitted' });
  });

  it('takes no slot for a refused request, whichever limit refused it', async () => {
    await settle('spent', 100);
    expect(await admit('a', { requestsPerMinute: 1, tokensPerDay: 100 })).toMatchObject({
      kind: 'refused',
      refusal: { limit: 'tokens_per_day', retryAtMs: midnightMs },
      status: { requests: { remaining: 1 } },
    });
    expect(await admit('b', { requestsPerMinute: 1 })).toMatchObject({ kind: 'admitted' });
    expect(await admit('c', { requestsPerMinute: 1 })).toMatchObject({ kind: 'refused' });
    opened.time.advanceMs(60_000);
    expect(await peek({ requestsPerMinute: 1 })).toMatchObject({ status: { requests: { remaining: 1 } } });
  });

  it('answers a repeated request equally and takes no second slot', async () => {
    const first = await admit('a', { requestsPerMinute: 2, tokensPerDay: 10 });
    expect(await admit('a', { requestsPerMinute: 2, tokensPerDay: 10 })).toEqual(first);
    await admit('b', { requestsPerMinute: 2 });
    await settle('b', 10);
    expect(await admit('a', { requestsPerMinute: 2, tokensPerDay: 10 })).toMatchObject({
      kind: 'admitted',
      status: { requests: { remaining: 0 } },
    });
  });

  it('waits, after the limit was lowered, until enough entries have left', async () => {
    for (const requestId of ['a', 'b', 'c', 'd']) {
      await admit(requestId, { requestsPerMinute: 4 });
      opened.time.advanceMs(10_000);
    }
    expect(await admit('e', { requestsPerMinute: 2 })).toMatchObject({
      refusal: { retryAtMs: noonMs + 20_000 + 60_000 },
      status: { requests: { remaining: 0, nextSlotAtMs: noonMs + 80_000, emptyAtMs: noonMs + 90_000 } },
    });
    opened.time.setMs(noonMs + 80_000);
    expect(await admit('e', { requestsPerMinute: 2 })).toMatchObject({ kind: 'admitted' });
  });

  it('admits nothing at a limit of 0 and knows no moment', async () => {
    expect(await admit('a', { requestsPerMinute: 0 })).toMatchObject({
      kind: 'refused',
      refusal: { limit: 'requests_per_minute', retryAtMs: noonMs + 60_000 },
      status: {
        requests: { limit: 0, remaining: 0, emptyAtMs: noonMs, nextSlotAtMs: undefined, resetsAtMs: noonMs + 60_000 },
      },
    });
    expect(await admit('a', { tokensPerDay: 0 })).toMatchObject({
      kind: 'refused',
      refusal: { limit: 'tokens_per_day', retryAtMs: midnightMs },
    });
  });

  it('knows a settled request of a key without a ledger again for two minutes', async () => {
    await settle('a', 5);
    opened.time.advanceMs(119_999);
    expect(await settle('a', 5)).toMatchObject({ usedTokens: 5 });
    opened.time.advanceMs(1);
    expect(await settle('a', 5)).toMatchObject({ usedTokens: 10 });
  });

  it('charges the day budget once per request and lets the crossing request through', async () => {
    expect(await admit('a', { tokensPerDay: 100 })).toMatchObject({
      status: { tokens: { limit: 100, remaining: 100, resetsAtMs: midnightMs }, requests: undefined },
    });
    expect(await settle('a', 99)).toEqual({ usedTokens: 99, isLoaded: true });
    expect(await settle('a', 99)).toEqual({ usedTokens: 99, isLoaded: true });
    expect(await admit('b', { tokensPerDay: 100 })).toMatchObject({
      kind: 'admitted',
      status: { tokens: { remaining: 1 } },
    });
    expect(await settle('b', 50)).toMatchObject({ usedTokens: 149 });
    expect(await admit('c', { tokensPerDay: 100 })).toMatchObject({
      kind: 'refused',
      status: { tokens: { remaining: 0 } },
    });
  });

  it('reports the day budget to a request that costs no tokens, and never refuses it by it', async () => {
    await settle('a', 100);
    expect(await admit('b', { requestsPerMinute: 1, tokensPerDay: 100, costKind: 'request_only' })).toMatchObject({
      kind: 'admitted',
      status: { tokens: { remaining: 0 }, requests: { remaining: 0 } },
    });
  });

  it('begins a new budget at local midnight and still takes tokens of the day before', async () => {
    opened.time.setMs(midnightMs - 1);
    await settle('a', 100);
    expect(await admit('b', { tokensPerDay: 100 })).toMatchObject({ kind: 'refused' });
    opened.time.setMs(midnightMs);
    expect(await admit('b', { tokensPerDay: 100 })).toMatchObject({
      kind: 'admitted',
      status: { localDay: '2026-11-21', tokens: { remaining: 100, resetsAtMs: midnightMs + 86_400_000 } },
    });
    expect(await settle('late', 7)).toMatchObject({ usedTokens: 107 });
    expect(await peek({ tokensPerDay: 100 })).toMatchObject({ status: { tokens: { remaining: 100 } } });
  });

  it('stores nothing for no tokens', async () => {
    expect(await settle('a', 0)).toEqual({ usedTokens: 0, isLoaded: true });
    expect(await settle('a', 5)).toEqual({ usedTokens: 5, isLoaded: true });
  });

  it('changes nothing when peeked', async () => {
    await admit('a', { requestsPerMinute: 2 });
    const seen = await peek({ requestsPerMinute: 2, tokensPerDay: 10 });
    expect(await peek({ requestsPerMinute: 2, tokensPerDay: 10 })).toEqual(seen);
    expect(seen).toMatchObject({ status: { requests: { remaining: 1 }, tokens: { remaining: 10 } } });
    expect(await admit('b', { requestsPerMinute: 2 })).toMatchObject({ kind: 'admitted' });
  });

  it('asks for the total of a day that was not loaded before it judges a day budget', async () => {
    const unknown = { ...question({ requestsPerMinute: 1, tokensPerDay: 100 }), hasLedger: true };
    const request = { ...unknown, requestId: 'a', costKind: 'request_and_tokens' } as const;
    expect(await opened.store.admit(request)).toEqual({ kind: 'day_total_unknown', localDay: today });
    const reading = { ...request, requestId: undefined };
    expect(await opened.store.admit(reading)).toEqual({ kind: 'day_total_unknown', localDay: today });
    expect(await settle('s', 30, { hasLedger: true })).toEqual({ usedTokens: 30, isLoaded: false });
    const total = { totalTokens: 50, includedIds: [], missingIds: ['s'] };
    expect(await opened.store.reloadDay(opened.key, today, total)).toMatchObject({ usedTokensAfter: 80 });
    expect(await opened.store.admit(request)).toMatchObject({
      kind: 'admitted',
      status: { tokens: { remaining: 20 }, requests: { remaining: 0 } },
    });
  });

  describe('whose day totals are loaded from a ledger', () => {
    const covered = { hasLedger: true };
    const pendingIds = async () => (await opened.store.pendingIds(opened.key, today, 0))?.toSorted();
    const reload = (
      totalTokens: number,
      includedIds: readonly string[] = [],
      { missingIds = [], ...rest }: Partial<LedgerTotal> = {},
    ) => opened.store.reloadDay(opened.key, today, { totalTokens, includedIds, missingIds, ...rest });
    const used = async () => {
      const answer = await peek({ tokensPerDay: 1_000 });
      return answer.kind === 'day_total_unknown' ? answer.kind : 1_000 - (answer.status.tokens?.remaining ?? 0);
    };

    it('stands at the ledger’s total and what the ledger does not have yet', async () => {
      for (const [requestId, tokens] of [
        ['a', 10],
        ['b', 20],
        ['c', 30],
      ] as const)
        await settle(requestId, tokens, covered);
      expect(await pendingIds()).toEqual(['a', 'b', 'c']);
      await settle('d', 40, covered);
      expect(await reload(37, ['a', 'b'], { missingIds: ['c'] })).toEqual({
        usedTokensBefore: undefined,
        usedTokensAfter: 107,
        pendingTokens: 70,
        unaskedTokens: 40,
      });
      expect(await used()).toBe(107);
      expect(await pendingIds()).toEqual(['c', 'd']);
    });

    it('counts no request again that the ledger has, for two minutes', async () => {
      await settle('a', 10, covered);
      await reload(10, ['a']);
      opened.time.advanceMs(119_999);
      expect(await settle('a', 10, covered)).toEqual({ usedTokens: 10, isLoaded: true });
      opened.time.advanceMs(1);
      expect(await settle('a', 10, covered)).toEqual({ usedTokens: 20, isLoaded: true });
      expect(await reload(10, ['a'])).toMatchObject({ usedTokensAfter: 10 });
    });

    it('counts no pending request again, however long it takes', async () => {
      await settle('a', 10, covered);
      opened.time.advanceMs(3_600_000);
      expect(await settle('a', 10, covered)).toMatchObject({ usedTokens: 10 });
    });

    it('takes answers of the ledger in any order', async () => {
      await settle('a', 10, covered);
      await settle('b', 20, covered);
      expect(await reload(30, ['a', 'b'])).toMatchObject({ usedTokensAfter: 30 });
      // This total was read before the other one.
      expect(await reload(10, ['a'])).toMatchObject({ usedTokensAfter: 30, pendingTokens: 0 });
    });

    it('stays exact when requests settle while the ledger is asked, whether its total has them or not', async () => {
      await reload(0);
      await settle('a', 10, covered);
      expect(await pendingIds()).toEqual(['a']);
      await settle('b', 20, covered);
      await settle('c', 40, covered);
      // The total has one of the two requests that settled since.
      expect(await reload(30, ['a'])).toMatchObject({ usedTokensAfter: 70, pendingTokens: 60, unaskedTokens: 60 });
      expect(await reload(30, ['b'], { missingIds: ['c'] })).toMatchObject({ usedTokensAfter: 70, pendingTokens: 40 });
      expect(await reload(70, ['c'])).toMatchObject({ usedTokensAfter: 70, pendingTokens: 0 });
    });

    it('comes as near to the truth as is known when it was wrong and requests settle while the ledger is asked', async () => {
      await reload(0);
      await settle('a', 10, covered);
      // The 100 tokens that were lost here, and the 10: the total may include the 10 or not.
      expect(await reload(110)).toMatchObject({ usedTokensAfter: 110, unaskedTokens: 10 });
      expect(await reload(110, [], { missingIds: ['a'] })).toMatchObject({ usedTokensAfter: 120 });
      // Twice the true value: it is corrected to at most the ledger's total plus what the ledger
      // may lack.
      await settle('b', 5, covered);
      expect(await reload(50, ['a'], { force: true })).toMatchObject({ usedTokensAfter: 55, unaskedTokens: 5 });
      expect(await reload(50, ['b'])).toMatchObject({ usedTokensAfter: 50 });
    });

    it('gets no total from a ledger that may have more than was asked for, if it will be asked again', async () => {
      await settle('a', 10, covered);
      const isTentative = true;
      const unsure = { usedTokensBefore: undefined, usedTokensAfter: 10, pendingTokens: 10, unaskedTokens: 10 };
      expect(await reload(10, [], { isTentative })).toEqual(unsure);
      const request = { ...question({ tokensPerDay: 100 }), ...covered, requestId: 'x' };
      const admitted = () => opened.store.admit({ ...request, costKind: 'request_and_tokens' });
      expect(await admitted()).toMatchObject({ kind: 'day_total_unknown' });
      expect(await reload(10, ['a'], { isTentative })).toMatchObject({ usedTokensAfter: 10, unaskedTokens: 0 });
      expect(await admitted()).toMatchObject({ kind: 'admitted', status: { tokens: { remaining: 90 } } });
    });

    it('believes a total below an earlier one only when it must', async () => {
      await reload(50);
      expect(await reload(40)).toMatchObject({ usedTokensAfter: 50 });
      expect(await reload(40, [], { force: true })).toMatchObject({ usedTokensBefore: 50, usedTokensAfter: 40 });
    });
  });

  it('puts no entry before an older one when its clock is set back', async () => {
    await admit('a', { requestsPerMinute: 3 });
    opened.time.advanceMs(-5_000);
    expect(await peek({ requestsPerMinute: 3 })).toMatchObject({
      status: { requests: { nextSlotAtMs: noonMs - 5_000 } },
    });
    expect(await admit('b', { requestsPerMinute: 3 })).toMatchObject({
      status: { requests: { emptyAtMs: noonMs + 60_000, nextSlotAtMs: noonMs - 5_000 } },
    });
    opened.time.setMs(noonMs + 60_000);
    expect(await peek({ requestsPerMinute: 3 })).toMatchObject({ status: { requests: { remaining: 3 } } });
  });

  it('admits exactly the limit of many at once, and none twice', async () => {
    const requestIds = Array.from({ length: 200 }, (_, n) => `request-${n}`);
    const decisions = await Promise.all(
      [...requestIds, ...requestIds].map((requestId) => admit(requestId, { requestsPerMinute: 50 })),
    );
    const admitted = new Set(requestIds.filter((_, n) => decisions[n]?.kind === 'admitted'));
    expect(admitted.size).toBe(50);
    const repeated = requestIds.filter((_, n) => decisions[n + requestIds.length]?.kind === 'admitted');
    expect(new Set(repeated)).toEqual(admitted);
    expect(await peek({ requestsPerMinute: 60 })).toMatchObject({ status: { requests: { remaining: 10 } } });
  });

  it('gives each replica of a group a place of its own, as long as it is heard of', async () => {
    const beat = async (replicaId: string, group = opened.key) => {
      const { answeredAtMs, ...place } = (await opened.store.heartbeat(group, replicaId)) ?? {};
      expect(answeredAtMs).toBe(opened.time.nowMs);
      return place;
    };
    expect(await beat('b')).toEqual({ replicas: 1, position: 0, longestSilenceMs: 0, isNew: true });
    expect(await beat('a')).toEqual({ replicas: 2, position: 0, longestSilenceMs: 0, isNew: true });
    opened.time.advanceMs(9_999);
    expect(await beat('c')).toEqual({ replicas: 3, position: 2, longestSilenceMs: 9_999, isNew: true });
    expect(await beat('b')).toEqual({ replicas: 3, position: 1, longestSilenceMs: 9_999, isNew: false });
    opened.time.advanceMs(1);
    expect(await beat('b')).toEqual({ replicas: 2, position: 0, longestSilenceMs: 1, isNew: false });
    expect(await beat('a', `${opened.key}-other`)).toEqual({
      replicas: 1,
      position: 0,
      longestSilenceMs: 0,
      isNew: true,
    });
    opened.time.advanceMs(-60_000);
    expect(await beat('b')).toEqual({ replicas: 1, position: 0, longestSilenceMs: 0, isNew: false });
    expect(await beat('c')).toEqual({ replicas: 2, position: 1, longestSilenceMs: 0, isNew: true });
    opened.time.advanceMs(-3_000);
    expect(await beat('c')).toEqual({ replicas: 2, position: 1, longestSilenceMs: 0, isNew: false });
  });

  it('takes a replica to be silent since the last answer that it got, however late its heartbeat comes', async () => {
    const { time, key, store } = opened;
    const startedMs = time.nowMs;
    const beat = (replicaId: string, answeredAtMs: number) => store.heartbeat(key, replicaId, answeredAtMs);
    expect(await beat('a', startedMs - 3_000)).toMatchObject({ replicas: 1, longestSilenceMs: 3_000 });
    expect(await beat('b', startedMs)).toMatchObject({ replicas: 2, longestSilenceMs: 3_000 });
    time.advanceMs(2_000);
    expect(await beat('a', startedMs)).toMatchObject({ replicas: 2, longestSilenceMs: 2_000 });
    // A replica that reports that it is alive counts, whatever else it reports.
    for (const answeredAtMs of [0, startedMs + 3_600_000]) {
      expect(await beat('c', answeredAtMs)).toMatchObject({ replicas: 3 });
    }
    expect(await beat('a', startedMs + 2_000)).toMatchObject({ replicas: 3, longestSilenceMs: 2_000 });
  });

  it('keeps keys apart, whatever they are made of', async () => {
    for (const suffix of ['', '}', '{', '}:m', '%7D', ':d:2026-11-20', '\n', 'é']) {
      const key = `${opened.key}${suffix}`;
      const request = { ...question({ requestsPerMinute: 1 }), key, requestId: 'a', costKind: 'request_and_tokens' };
      expect(await opened.store.admit({ ...request, costKind: 'request_and_tokens' })).toMatchObject({
        kind: 'admitted',
        status: { requests: { remaining: 0 } },
      });
      const { hasLedger, requestId } = request;
      expect(await opened.store.settle({ key, hasLedger, requestId, localDay: today, tokens: 3 })).toMatchObject({
        usedTokens: 3,
      });
    }
  });
});
