import { daySpan } from '@gateway/limits';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Seeded } from '../world/seeded.ts';
import { World } from '../world/world.ts';
import { JetStreamModel } from './jet-stream.ts';
import { databaseTroubles, LedgerDatabase } from './ledger-database.ts';
import { RedisModel } from './redis.ts';

const counter = { key: 'token:1', span: daySpan('2026-11-30') };

describe('a failover of Redis', () => {
  it('loses the writes that the replica lacks, and keeps those before', async () => {
    const world = new World('redis');
    const redis = new RedisModel(world);
    const settlement = { key: 'token:1', localDay: '2026-11-30', tokens: 5, hasLedger: true };
    await redis.limits.settle({ ...settlement, requestId: 'kept' });
    world.elapsedMs = 2_000;
    await redis.limits.settle({ ...settlement, requestId: 'lost' });
    redis.failOver(1_000);
    expect(await redis.limits.pendingIds(counter, 0)).toEqual(['kept']);
    expect(redis.losses).toHaveLength(1);
  });

  it('lets one limiter at a time compare a day', async () => {
    const redis = new RedisModel(new World('redis'));
    expect(await redis.limits.pendingIds(counter, 9_000)).toEqual([]);
    expect(await redis.limits.pendingIds(counter, 9_000)).toBeUndefined();
    expect(await redis.limits.pendingIds(counter, 0)).toEqual([]);
  });
});

describe('the stream', () => {
  let nowMs = 0;
  let stream: JetStreamModel;
  beforeEach(() => {
    nowMs = 1_000_000;
    stream = new JetStreamModel(() => nowMs);
  });
  const ids = async () => (await stream.fetch(10)).map(({ id }) => id);
  const isAnswered = (asked: Promise<unknown>) =>
    Promise.race([asked.then(() => true), new Promise<boolean>((resolve) => setImmediate(() => resolve(false)))]);

  it('loses what it acknowledged before its power failed, and delivers the rest again', async () => {
    await stream.publish('kept', Buffer.from('1'));
    const [kept] = await stream.fetch(10);
    nowMs += 10_000;
    await stream.publish('lost', Buffer.from('2'));
    await stream.acknowledge([kept?.sequence ?? 0]);
    stream.losePower(5_000);
    expect(stream.lost.map(({ id }) => id)).toEqual(['lost']);
    expect(await ids()).toEqual(['kept']);
  });

  it('stores nothing in an election, and everything when only answers are lost', async () => {
    for (const stores of [false, true]) {
      stream.fallSilent(1_000, stores);
      expect(await isAnswered(stream.publish(`${stores}`, Buffer.from('')))).toBe(false);
      nowMs += 1_000;
    }
    expect(await ids()).toEqual(['true']);
  });

  it('delivers again what is not acknowledged', async () => {
    await stream.publish('one', Buffer.from(''));
    expect([await ids(), stream.pending]).toEqual([['one'], 1]);
    stream.redeliver();
    expect(await ids()).toEqual(['one']);
  });
});

describe('the database', () => {
  const ledger = new LedgerDatabase();
  const chance = new Seeded('ledger').of('trouble');
  afterEach(() => ledger.end(chance));

  it.each(databaseTroubles.filter((kind) => kind !== 'slow'))('fails when it is in trouble: %s', (kind) => {
    ledger.begin(kind, chance);
    const commit = { database: { isTransaction: true }, owner: undefined, sql: 'commit' };
    const results = Array.from({ length: 40 }, () => {
      let hasRun = false;
      try {
        ledger.answer(commit as never, () => {
          hasRun = true;
        });
        return 'answered';
      } catch {
        return hasRun ? 'lost' : 'refused';
      }
    });
    const expected = { away: ['refused'], breaks: ['answered', 'refused'], unanswered: ['answered', 'lost'] }[kind];
    expect([...new Set(results)].sort()).toEqual(expected);
  });
});
