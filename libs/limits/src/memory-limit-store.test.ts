import { CostKind } from '@gateway/proto/limiter/v1/limit_pb.js';
import { ManualClock } from '@gateway/time';
import { describe, expect, it } from 'vitest';
import { MemoryLimitStore } from './memory-limit-store.ts';

const noonMs = Date.parse('2026-11-20T11:00:00Z');

const request = (key: string, requestId = 'a') => ({
  key,
  requestId,
  limits: { requestsPerMinute: 10, tokensPerDay: 100n },
  costKind: CostKind.REQUEST_AND_TOKENS,
  hasLedger: false,
});
const settlement = (key: string, requestId: string) => ({
  ...request(key, requestId),
  localDay: '2026-11-20',
  tokens: 1,
});

describe('the memory limit store', () => {
  it('forgets windows after a minute and days some hours after midnight', async () => {
    const clock = new ManualClock(noonMs);
    const store = new MemoryLimitStore({ clock, maxKeys: 1_000 });
    for (let n = 0; n < 100; n++) {
      await store.admit(request(`key-${n}`));
      await store.settle(settlement(`key-${n}`, 'a'));
    }
    expect(store.size).toBe(200);
    clock.advanceMs(60_001);
    await store.admit({ ...request('other'), requestId: '' });
    expect(store.size).toBe(100);
    clock.advanceMs(24 * 3_600_000);
    await store.admit({ ...request('other'), requestId: '' });
    expect(store.size).toBe(0);
  });

  it('holds no more keys than it may, and lets the least recently used go', async () => {
    const store = new MemoryLimitStore({ clock: new ManualClock(noonMs), maxKeys: 10 });
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
    const store = new MemoryLimitStore({ clock: new ManualClock(noonMs), maxKeys: 10, maxSettledIds: 3 });
    for (const requestId of ['a', 'b', 'c']) await store.settle(settlement('key', requestId));
    expect(await store.settle(settlement('key', 'a'))).toMatchObject({ usedTokens: 3 });
    await store.settle(settlement('key', 'd'));
    expect(await store.settle(settlement('key', 'b'))).toMatchObject({ usedTokens: 4 });
    expect(await store.settle(settlement('key', 'a'))).toMatchObject({ usedTokens: 5 });
  });
});
