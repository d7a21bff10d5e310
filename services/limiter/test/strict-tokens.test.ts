import { randomUUID } from 'node:crypto';
import { daySpan, type LimitStore } from '@gateway/limits';
import { CostKind, LimitName } from '@gateway/proto/limiter/v2/limit_pb.js';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMemoryStore, openRedisStore, type StoreUnderTest } from './store-under-test.ts';

const tokensPerDay = 100;
const limits = { tokensPerDay, strictTokens: true };
const today = '2026-11-20';

/** What a request estimates to use, and the part of it that it uses in the end. */
const request = fc.record({
  estimate: fc.integer({ min: 1, max: 150 }),
  part: fc.double({ min: 0, max: 1, noNaN: true }),
});
/** Which request begins or, if it runs, ends next. */
const turns = fc.array(fc.nat({ max: 9 }), { maxLength: 60 });

describe.each([
  ['in memory', openMemoryStore],
  ['in Redis', openRedisStore],
] as const)('a strict limit of tokens per day %s', (_name, open) => {
  let opened: StoreUnderTest;
  let store: LimitStore;

  beforeAll(async () => {
    opened = await open(Date.parse('2026-11-20T12:00:00Z'));
    store = opened.store.store;
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  const admit = (key: string, requestId: string) =>
    store.admit({ key, requestId, limits, costKind: CostKind.REQUEST_AND_TOKENS });
  const reserve = (key: string, requestId: string, tokens: number) =>
    store.reserve({ key, requestId, localDay: today, limits, costMicros: 0, tokens });

  it('is exceeded by no more than one request, however many run at once', async () => {
    const history = fc.tuple(fc.array(request, { minLength: 10, maxLength: 10 }), turns);
    const property = fc.asyncProperty(history, async ([requests, order]) => {
      const key = randomUUID();
      const running = new Map<string, number>();
      let used = 0;
      for (const [turn, index] of order.entries()) {
        const { estimate = 1, part = 1 } = requests[index] ?? {};
        const [runningId] = [...running.keys()].filter((id) => id.endsWith(`/${index}`));
        if (runningId !== undefined) {
          const tokens = Math.floor(estimate * part);
          used = (await store.settle({ key, requestId: runningId, localDay: today, limits, tokens, ended: true }))
            .usedTokens;
          running.delete(runningId);
          continue;
        }
        const requestId = `${turn}/${index}`;
        const refused = (await admit(key, requestId)).refusal ?? (await reserve(key, requestId, estimate));
        if (refused === undefined) running.set(requestId, estimate);
        else expect(refused.limit).toBe(LimitName.TOKENS_PER_DAY);
        const reserved = running.values().reduce((sum, each) => sum + each, 0);
        // All that runs fits, or one request runs alone.
        expect(used + reserved <= tokensPerDay || running.size <= 1).toBe(true);
      }
      const largest = Math.max(...requests.map(({ estimate }) => estimate));
      expect(used).toBeLessThan(tokensPerDay + largest);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  it('refuses what others have reserved for as long as they run, and names no time that is far away', async () => {
    const key = randomUUID();
    await admit(key, 'first');
    expect(await reserve(key, 'first', 1_000)).toBeUndefined();
    expect((await admit(key, 'second')).refusal).toMatchObject({
      limit: LimitName.TOKENS_PER_DAY,
      retryAfterMs: 1_000,
    });
    await store.settle({ key, requestId: 'first', localDay: today, limits, tokens: 40, ended: true });
    expect((await admit(key, 'second')).refusal).toBeUndefined();
    expect(await reserve(key, 'second', 60)).toBeUndefined();
  });

  it('keeps what a running request has reserved while it is renewed', async () => {
    const key = randomUUID();
    await store.renew([{ key, requestId: 'first', localDay: today, limits, costMicros: 0, tokens: 100 }]);
    expect((await admit(key, 'second')).refusal).toBeDefined();
  });

  it('frees what a request has reserved that the ledger has, whose edge is dead', async () => {
    const key = randomUUID();
    await admit(key, 'first');
    expect(await reserve(key, 'first', 100)).toBeUndefined();
    const counter = { key, span: daySpan(today) };
    expect(await store.pendingIds(counter, 0)).toEqual(['first']);
    await store.reload(counter, { totalTokens: 40, includedIds: ['first'], missingIds: [] });
    expect((await admit(key, 'second')).refusal).toBeUndefined();
    expect(await reserve(key, 'second', 60)).toBeUndefined();
  });
});
