import { createHash } from 'node:crypto';

/** A Lua script with the digest that Redis knows it by. */
export interface RedisScript {
  readonly lua: string;
  readonly sha1: string;
}

// A script may touch the keys of an account and those of its pool: all of them lie in one Redis.

/** Replaces a value if it is still what was read. KEYS: value. ARGV: expected ("" for none), next, TTL in ms. */
export const compareAndSetScript = scriptOf(`
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`);

/**
 * Adds a lease if there is room, and its request to each set. KEYS: leases, sets of requests. ARGV: lease id, now, TTL in ms,
 * cap (-1 for none).
 */
export const takeLeaseScript = scriptOf(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2] - ARGV[3])
local cap = tonumber(ARGV[4])
if cap >= 0 and not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= cap then return 0 end
for index, key in ipairs(KEYS) do
  if index > 1 then redis.call('ZREMRANGEBYSCORE', key, '-inf', ARGV[2] - ARGV[3]) end
  redis.call('ZADD', key, ARGV[2], ARGV[1])
  redis.call('PEXPIRE', key, ARGV[3])
end
return 1`);

/**
 * Ends a lease and its request once, and reads what its end may change. KEYS: leases, settled leases, health of the account,
 * health of the pool, sets of requests. ARGV: lease id, now, memory in ms. Answers nothing for one that was ended before, else
 * the time the lease was taken and both healths ("" for what is not known).
 */
export const settleLeaseScript = scriptOf(`
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[2] - ARGV[3])
if redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[1]) == 0 then return {} end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
local leased = redis.call('ZSCORE', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[1], ARGV[1])
for index = 5, #KEYS do redis.call('ZREM', KEYS[index], ARGV[1]) end
return { leased or '', redis.call('GET', KEYS[3]) or '', redis.call('GET', KEYS[4]) or '' }`);

/** Binds a session that is free or already the account's. KEYS: binding. ARGV: account id, TTL in ms. */
export const bindScript = scriptOf(`
local bound = redis.call('GET', KEYS[1])
if not bound or bound == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 0`);

/** Ends a binding to this account. KEYS: binding. ARGV: account id. */
export const unbindScript = scriptOf(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`);

/**
 * Notes a caller and counts. KEYS: callers, the caller's requests. ARGV: caller, now, memory of callers in ms, TTL of
 * requests in ms, most callers. Answers the caller's requests and the number of callers.
 */
export const shareScript = scriptOf(`
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2] - ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[2] - ARGV[4])
return { redis.call('ZCARD', KEYS[2]), redis.call('ZCARD', KEYS[1]) }`);

/** Counts what is under way with each account. KEYS: leases of each. ARGV: from when on leases count, exclusive. */
export const countLeasesScript = scriptOf(`
local counts = {}
for index, key in ipairs(KEYS) do counts[index] = redis.call('ZCOUNT', key, '(' .. ARGV[1], '+inf') end
return counts`);

function scriptOf(lua: string): RedisScript {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') };
}
