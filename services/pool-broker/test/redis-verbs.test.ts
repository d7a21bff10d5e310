import { randomUUID } from 'node:crypto';
import { testBackends } from '@gateway/testkit';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRedisConnection } from '../src/store/redis-connection.ts';
import { RedisVerbs } from '../src/store/redis-verbs.ts';

let redis: Redis;
beforeAll(async () => {
  redis = await openRedisConnection((await testBackends()).redisUrl, 5_000);
});
afterAll(() => redis.disconnect());

describe('what is asked of Redis in one turn', () => {
  it('is done in its order, each with its own answer', async () => {
    const [verbs, key] = [new RedisVerbs(redis), randomUUID()];
    const answers = await Promise.all([
      verbs.run('compare_and_set', [key], ['', 'first', 60_000]),
      verbs.run('texts', [key, `${key}:none`], []),
      verbs.run('compare_and_set', [key], ['', 'lost', 60_000]),
      verbs.run('compare_and_set', [key], ['first', 'second', 60_000]),
      verbs.run('texts', [key], []),
    ]);
    expect(answers).toEqual([1, ['first', null], 0, 1, ['second']]);
  });

  it('is answered however much it is', async () => {
    const [verbs, key] = [new RedisVerbs(redis), randomUUID()];
    const leases = Array.from({ length: 250 }, (_, index) => `lease-${index}`);
    const taken = leases.map((lease) => verbs.run('take_lease', [key], [lease, 1_000, 60_000, 240]));
    expect((await Promise.all(taken)).filter((answer) => answer === 1)).toHaveLength(240);
  });

  it('leaves every set with a TTL, also one that was emptied in between', async () => {
    const [verbs, key] = [new RedisVerbs(redis), randomUUID()];
    const settled = `${key}:settled`;
    await Promise.all([
      verbs.run('take_lease', [key], ['one', 1_000, 60_000, -1]),
      verbs.run('settle_lease', [key, settled, `${key}:health`, `${key}:pool`], ['one', 1_000, 60_000]),
      verbs.run('take_lease', [key], ['two', 1_000, 60_000, -1]),
    ]);
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    expect(await redis.pttl(settled)).toBeGreaterThan(0);
  });

  it('fails together', async () => {
    const [verbs, key] = [new RedisVerbs(redis), randomUUID()];
    await redis.set(key, 'no set', 'PX', 60_000);
    const outcomes = await Promise.allSettled([
      verbs.run('texts', [key], []),
      verbs.run('take_lease', [key], ['one', 1_000, 60_000, -1]),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await verbs.run('texts', [key], [])).toEqual(['no set']);
  });
});
