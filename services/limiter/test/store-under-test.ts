import { randomUUID } from 'node:crypto';
import { MemoryLimitStore } from '@gateway/limits';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { epochMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { RedisLimitStore, type RedisLimitStoreOptions } from '../src/store/redis-limit-store.ts';
import { PlainStore } from './plain-store.ts';
import { redisAt } from './redis-at.ts';

/** A store whose time the test sets, and a key for this test alone. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: PlainStore;
  readonly time: ManualTime;
  readonly key: string;
}

export interface StoreBounds {
  readonly maxPendingIds?: number;
}

export async function openMemoryStore(startMs: number, bounds: StoreBounds = {}): Promise<StoreUnderTest> {
  const time = new ManualTime(startMs);
  const store = new PlainStore(new MemoryLimitStore({ maxKeys: 1_000, ...bounds }));
  return { store, time, key: `test:${randomUUID()}`, [Symbol.asyncDispose]: async () => time[Symbol.dispose]() };
}

export async function openRedisStore(
  startMs: number,
  options: StoreBounds & Pick<Partial<RedisLimitStoreOptions>, 'settings'> = {},
): Promise<StoreUnderTest> {
  const time = new ManualTime(startMs);
  const store = await startRedisStore({ redisNowMs: epochMs, ...options });
  return {
    store: new PlainStore(store),
    time,
    key: `test:${randomUUID()}`,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      time[Symbol.dispose]();
    },
  };
}

/** A connected store with a time limit that a busy test machine meets. */
export async function startRedisStore(options: Partial<RedisLimitStoreOptions>): Promise<RedisLimitStore> {
  const settings = options.settings ?? redisAt((await testBackends()).redisUrl);
  const logger = createLogger('limiter', 'silent');
  const defaults = { settings, timeoutMs: roomMs(10_000), logger, metrics: new Metrics() };
  const store = new RedisLimitStore({ ...defaults, ...options });
  await store.start();
  return store;
}
