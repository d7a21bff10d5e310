import { randomUUID } from 'node:crypto';
import { MemoryLimitStore } from '@gateway/limits';
import { createLogger, Metrics } from '@gateway/telemetry';
import { testBackends } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { ManualClock, systemClock } from '@gateway/time';
import { RedisLimitStore, type RedisLimitStoreOptions } from '../src/store/redis-limit-store.ts';
import { PlainStore } from './plain-store.ts';
import { redisAt } from './redis-at.ts';

/** A store whose time the test sets, and a key for this test alone. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: PlainStore;
  readonly clock: ManualClock;
  readonly key: string;
}

export interface StoreBounds {
  readonly maxPendingIds?: number;
}

export async function openMemoryStore(startMs: number, bounds: StoreBounds = {}): Promise<StoreUnderTest> {
  const clock = new ManualClock(startMs);
  const store = new PlainStore(new MemoryLimitStore({ clock, maxKeys: 1_000, ...bounds }));
  return { store, clock, key: `test:${randomUUID()}`, [Symbol.asyncDispose]: async () => undefined };
}

export async function openRedisStore(
  startMs: number,
  options: StoreBounds & Pick<Partial<RedisLimitStoreOptions>, 'settings'> = {},
): Promise<StoreUnderTest> {
  const clock = new ManualClock(startMs);
  const store = await startRedisStore({ clock, redisClock: clock, ...options });
  return {
    store: new PlainStore(store),
    clock,
    key: `test:${randomUUID()}`,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** A connected store with a time limit that a busy test machine meets. */
export async function startRedisStore(options: Partial<RedisLimitStoreOptions>): Promise<RedisLimitStore> {
  const settings = options.settings ?? redisAt((await testBackends()).redisUrl);
  const logger = createLogger('limiter', 'silent');
  const defaults = { settings, timeoutMs: roomMs(10_000), logger, metrics: new Metrics(), clock: systemClock };
  const store = new RedisLimitStore({ ...defaults, ...options });
  await store.start();
  return store;
}
