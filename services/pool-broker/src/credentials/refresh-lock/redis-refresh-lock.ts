import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { GrantKey } from '../grants/grant-store.ts';
import type { HeldLock, RefreshLock } from './refresh-lock.ts';

/** The lock of brokers that share a Redis, by that Redis' clock. */
export class RedisRefreshLock implements RefreshLock {
  readonly #redis: Redis;
  readonly #prefix: string;

  /** The connection stays the caller's. */
  constructor(redis: Redis, keyPrefix = 'pool:') {
    this.#redis = redis;
    this.#prefix = keyPrefix;
  }

  async take({ accountId, origin }: GrantKey, ttlMs: number, above: number): Promise<HeldLock | undefined> {
    const key = `${this.#prefix}{account:${accountId}}:refresh-lock:${origin}`;
    const holder = randomUUID();
    const fence = await this.#redis.eval(takeScript, 2, key, `${key}-fence`, holder, ttlMs, above, fenceKeptForMs);
    if (typeof fence !== 'number' || fence === 0) return undefined;
    return {
      fence,
      extend: async (moreMs) => (await this.#redis.eval(extendScript, 1, key, holder, moreMs)) === 1,
      release: async () => void (await this.#redis.eval(releaseScript, 1, key, holder)),
    };
  }
}

const fenceKeptForMs = 400 * 86_400_000;

/** KEYS: lock, fence. ARGV: holder, TTL in ms, what the fence must be above, TTL of the fence. */
const takeScript = `
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end
local fence = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(ARGV[3])) + 1
redis.call('SET', KEYS[2], string.format('%.0f', fence), 'PX', ARGV[4])
return fence`;

/** KEYS: lock. ARGV: holder, TTL in ms. */
const extendScript = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: lock. ARGV: holder. */
const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`;
