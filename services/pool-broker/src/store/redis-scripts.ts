import { runScript, scriptOf } from '@gateway/redis';
import type { Redis } from 'ioredis';

type Name = keyof typeof scripts;

/** What the scripts return that return anything but a number. */
interface Answers extends Record<Name, unknown> {
  readAccounts: readonly unknown[];
  settleLease: readonly string[];
  shareOf: readonly [number, number];
}

/** Runs a script on keys of one pool, or of one session, which have a hash tag in common: Redis Cluster runs it too. */
export async function runPoolScript<N extends Name>(
  redis: Redis,
  name: N,
  keys: readonly string[],
  parameters: readonly (string | number)[],
): Promise<Answers[N]> {
  return (await runScript(redis, scripts[name], keys, parameters)) as Answers[N];
}

/** Puts a lease into sorted sets by a time, from which those that are too old are removed. */
const countIn = `
local function count_in(key, lease, now, ttl)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - ttl)
  redis.call('ZADD', key, now, lease)
  redis.call('PEXPIRE', key, ttl)
end`;

const scripts = {
  // Keys: health and leases of each account. Parameters: the time before which leases do not count, as "(<ms>".
  // Returns health and number of leases of each.
  readAccounts: scriptOf(`
local found = {}
for index = 1, #KEYS, 2 do
  found[index] = redis.call('GET', KEYS[index])
  found[index + 1] = redis.call('ZCOUNT', KEYS[index + 1], ARGV[1], '+inf')
end
return found`),

  // Keys: leases of the account, then the sets of requests. Parameters: lease, now, TTL, cap (-1 for none). Returns 1 if there was room.
  takeLease: scriptOf(`${countIn}
local lease, now, ttl, cap = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ttl)
if cap >= 0 and not redis.call('ZSCORE', KEYS[1], lease) and redis.call('ZCARD', KEYS[1]) >= cap then return 0 end
for _, key in ipairs(KEYS) do count_in(key, lease, now, ttl) end
return 1`),

  // Keys: settled leases, then the sets in which the lease counts. Parameters: lease, now, TTL. The sets that say when requests
  // began are not among the keys: that stays as it is.
  renewLease: scriptOf(`${countIn}
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
for index = 2, #KEYS do count_in(KEYS[index], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])) end
return 1`),

  // Keys: settled leases, health of the account, health of the pool, leases of the account, then the sets of requests, that with
  // the time at which the request began first. Parameters: lease, now, memory of settled leases. Returns nothing for a lease that
  // was settled before, else the begin of the request and both healths ("" for what is not known).
  settleLease: scriptOf(`${countIn}
local lease, now, memory = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
if (tonumber(redis.call('ZSCORE', KEYS[1], lease)) or -1) > now - memory then return {} end
count_in(KEYS[1], lease, now, memory)
local began = redis.call('ZSCORE', KEYS[5], lease)
for index = 4, #KEYS do redis.call('ZREM', KEYS[index], lease) end
return { began or '', redis.call('GET', KEYS[2]) or '', redis.call('GET', KEYS[3]) or '' }`),

  // Keys: callers, requests of the caller. Parameters: caller, now, memory of callers, TTL of requests, most callers.
  // Returns the caller's requests and the number of callers.
  shareOf: scriptOf(`${countIn}
local now, ttl = tonumber(ARGV[2]), tonumber(ARGV[4])
count_in(KEYS[1], ARGV[1], now, tonumber(ARGV[3]))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[5])
return { redis.call('ZCOUNT', KEYS[2], '(' .. now - ttl, '+inf'), redis.call('ZCARD', KEYS[1]) }`),

  // Replaces a value if it is still the expected one. Keys: value. Parameters: expected ("" for none), next, TTL.
  replace: scriptOf(`
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`),

  // Binds a session that is free or bound to the account already. Keys: binding. Parameters: account, TTL.
  bind: scriptOf(`
local bound = redis.call('GET', KEYS[1])
if not bound or bound == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 0`),

  // Ends a binding to the account. Keys: binding. Parameters: account.
  unbind: scriptOf(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`),
};
