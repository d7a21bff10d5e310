import { randomUUID } from 'node:crypto';
import { Metrics } from '@gateway/telemetry';
import { startRedis } from '@gateway/testkit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { healthy } from '../src/health/account-health.ts';
import { openRedisPoolStore } from '../src/store/redis-pool-store.ts';
import { redisAt } from './redis-at.ts';

/** Records the keys with this prefix of each script that clients run. */
async function watchScripts(url: string, prefix: string) {
  const redis = new Redis(url);
  const monitor = await redis.monitor();
  onTestFinished(() => {
    monitor.disconnect();
    redis.disconnect();
  });
  const scripts: (readonly string[])[] = [];
  monitor.on('monitor', (_time: string, [command = '', , count = '0', ...rest]: string[], source: string) => {
    if (!command.toLowerCase().startsWith('eval') || source === 'lua') return;
    const keys = rest.slice(0, Number(count));
    if (keys.some((key) => key.startsWith(prefix))) scripts.push(keys);
  });
  return scripts;
}

it('a script touches the keys of one hash tag, so that Redis Cluster runs it too', async () => {
  // A server of its own: a watching client would mistake other clients' commands for answers.
  const redis = await startRedis();
  onTestFinished(() => redis[Symbol.asyncDispose]());
  const keyPrefix = `test-${randomUUID()}:`;
  const options = { settings: redisAt(redis.url), metrics: new Metrics() };
  const store = await openRedisPoolStore({ ...options, keyPrefix });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const scripts = await watchScripts(redis.url, keyPrefix);

  const request = { pool: 'p', model: 'm', caller: 'c'.repeat(22), leaseId: 'lease' };
  const lease = { ...request, accountId: 'p/a', maxConcurrency: 1, leaseTtlMs: 60_000 };
  await store.readAccounts(['p/a', 'p/b', 'q/a'], 60_000);
  await store.takeLease(lease);
  await store.renewLease(lease);
  await store.settleLease('p/a', request);
  await store.shareOf({ ...request, leaseTtlMs: 60_000, callerMemoryMs: 60_000 });
  await store.changeHealth('p/a', () => ({ ...healthy, errorAverage: 0.5, errorsAtMs: store.nowMs() }));
  await store.bind('s', 'p/a', 60_000);
  await store.unbind('s', 'p/a');

  await expect.poll(() => scripts.length).toBeGreaterThanOrEqual(9);
  for (const keys of scripts) {
    const tags = keys.map((key) => /\{([^}]+)\}/.exec(key)?.[1]);
    expect(tags[0]).toBeDefined();
    expect(new Set(tags).size).toBe(1);
  }
});
