import { createHash } from 'node:crypto';

/** What the script can do. */
export type PoolVerb =
  | 'texts'
  | 'count_leases'
  | 'share'
  | 'take_lease'
  | 'take_as_seen'
  | 'renew_lease'
  | 'settle_lease'
  | 'compare_and_set'
  | 'bind'
  | 'unbind';

// It may touch the keys of an account and those of its pool: all of them lie in one Redis.

/**
 * Does many things, one after the other, and answers what each answers. KEYS has each key once, however many use it. ARGV is a
 * JSON list of what to do: of each the verb, the places of its keys in KEYS and its parameters. When one fails, so does the call:
 * what went before has been done.
 */
const lua = `
local verbs = {}

-- What has been done in this call need not be done again: most of what is asked is about the same few keys.
local trimmed, expiring = {}, {}
local function trim(key, until_ms)
  if trimmed[key] == until_ms then return end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', until_ms)
  trimmed[key] = until_ms
end
local function expire(key, ttl_ms)
  if expiring[key] == ttl_ms then return end
  redis.call('PEXPIRE', key, ttl_ms)
  expiring[key] = ttl_ms
end
local function remove(key, member)
  redis.call('ZREM', key, member)
  -- A set that was left empty is gone, and its successor has no TTL yet.
  expiring[key] = nil
end

-- Values as they are now, false for what is not there, each read once.
local held = {}
local function get(key)
  if held[key] == nil then held[key] = redis.call('GET', key) end
  return held[key]
end
local function set(key, value, ttl_ms)
  redis.call('SET', key, value, 'PX', ttl_ms)
  held[key] = value
end

-- Whether a value is the one of a digest ("" for none).
local digests = {}
local function has_digest(key, digest)
  local text = get(key)
  if not text then return digest == '' end
  if not digests[text] then digests[text] = redis.sha1hex(text) end
  return digests[text] == digest
end

-- Reads values; nothing for what is not there.
function verbs.texts(keys)
  local texts = {}
  for index, key in ipairs(keys) do texts[index] = get(key) end
  return texts
end

-- Counts what is under way with each account. Keys: leases of each. Parameters: from when on leases count, exclusive.
function verbs.count_leases(keys, parameters)
  local counts, after = {}, string.format('(%.17g', parameters[1])
  for index, key in ipairs(keys) do counts[index] = redis.call('ZCOUNT', key, after, '+inf') end
  return counts
end

-- Counts a caller among those that want something of a pool, for so long, but no more of them than so many.
local function note_caller(key, caller, now, memory_ms, most)
  trim(key, now - memory_ms)
  if redis.call('ZADD', key, now, caller) == 1 then redis.call('ZREMRANGEBYRANK', key, 0, -1 - most) end
  expire(key, memory_ms)
end

-- Notes a caller and counts. Keys: callers, the caller's requests. Parameters: caller, now, memory of callers in ms, TTL of
-- requests in ms, most callers. Answers the caller's requests and the number of callers.
function verbs.share(keys, parameters)
  local caller, now, memory, ttl, most = unpack(parameters)
  note_caller(keys[1], caller, now, memory, most)
  trim(keys[2], now - ttl)
  return { redis.call('ZCARD', keys[2]), redis.call('ZCARD', keys[1]) }
end

-- Adds a lease if there is room, and its request to each set. The first key is the account's leases, the others are the sets.
local function take(keys, first, lease, now, ttl, cap)
  local leases = keys[first]
  trim(leases, now - ttl)
  if cap >= 0 and not redis.call('ZSCORE', leases, lease) and redis.call('ZCARD', leases) >= cap then return 0 end
  for index = first, #keys do
    trim(keys[index], now - ttl)
    redis.call('ZADD', keys[index], now, lease)
    expire(keys[index], ttl)
  end
  return 1
end

-- Adds a lease if there is room, and its request to each set. Keys: leases, sets of requests. Parameters: lease id, now, TTL in
-- ms, cap (-1 for none).
function verbs.take_lease(keys, parameters)
  return take(keys, 1, unpack(parameters))
end

-- As take_lease, of an account that was chosen by what was seen earlier: only if all that it was chosen by is as it was. Notes
-- the caller, too. Keys: health of the account, health of the pool, binding of the session, callers, then as take_lease.
-- Parameters: as take_lease, then the digests of both healths, the account that the session is bound to ("" for none; false
-- for no session), and of the caller its id (false for none), the memory of callers in ms, and most callers.
function verbs.take_as_seen(keys, parameters)
  local lease, now, ttl, cap, health, pool_health, bound, caller, memory, most = unpack(parameters)
  if not has_digest(keys[1], health) or not has_digest(keys[2], pool_health) then return 0 end
  if bound and (get(keys[3]) or '') ~= bound then return 0 end
  if caller then note_caller(keys[4], caller, now, memory, most) end
  return take(keys, 5, lease, now, ttl, cap)
end

-- Has a lease count anew, unless it was settled. Keys: settled leases, then the sets in which it counts. Parameters: lease id,
-- now, TTL in ms. The sets that say when requests began are not among them: that stays as it is.
function verbs.renew_lease(keys, parameters)
  local lease, now, ttl = unpack(parameters)
  if redis.call('ZSCORE', keys[1], lease) then return 0 end
  for index = 2, #keys do
    trim(keys[index], now - ttl)
    redis.call('ZADD', keys[index], now, lease)
    expire(keys[index], ttl)
  end
  return 1
end

-- Ends a lease and its request once, and reads what its end may change. Keys: leases, settled leases, health of the account,
-- health of the pool, sets of requests. Parameters: lease id, now, memory in ms. Answers nothing for one that was ended before,
-- else the time the request began, by the first set of requests (else of leases), and both healths ("" for what is not known).
function verbs.settle_lease(keys, parameters)
  local lease, now, memory = parameters[1], parameters[2], parameters[3]
  trim(keys[2], now - memory)
  if redis.call('ZADD', keys[2], 'NX', now, lease) == 0 then return {} end
  expire(keys[2], memory)
  local leased = redis.call('ZSCORE', keys[5] or keys[1], lease)
  remove(keys[1], lease)
  for index = 5, #keys do remove(keys[index], lease) end
  return { leased or '', get(keys[3]) or '', get(keys[4]) or '' }
end

-- Replaces a value if it is still what was read. Keys: value. Parameters: expected ("" for none), next, TTL in ms.
function verbs.compare_and_set(keys, parameters)
  if (get(keys[1]) or '') ~= parameters[1] then return 0 end
  set(keys[1], parameters[2], parameters[3])
  return 1
end

-- Binds a session that is free or already the account's. Keys: binding. Parameters: account id, TTL in ms.
function verbs.bind(keys, parameters)
  local bound = get(keys[1])
  if not bound or bound == parameters[1] then set(keys[1], parameters[1], parameters[2]) end
  return 0
end

-- Ends a binding to this account. Keys: binding. Parameters: account id.
function verbs.unbind(keys, parameters)
  if get(keys[1]) ~= parameters[1] then return 0 end
  redis.call('DEL', keys[1])
  held[keys[1]] = false
  return 0
end

local answers = {}
for number, asked in ipairs(cjson.decode(ARGV[1])) do
  local verb, places, parameters = unpack(asked)
  local keys = {}
  for index, place in ipairs(places) do keys[index] = KEYS[place] end
  answers[number] = verbs[verb](keys, parameters)
end
return answers`;

/** The script, with the digest that Redis knows it by. */
export const poolScript = { lua, sha1: createHash('sha1').update(lua).digest('hex') } as const;
