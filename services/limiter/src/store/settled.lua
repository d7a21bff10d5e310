-- Shared by the scripts that settle requests, after shared.lua.

-- Whether a request was not settled in the last two minutes, and is not pending.
local function is_new(pending_key, settled_key, request_id, now)
  local settled = redis.call('ZSCORE', settled_key, request_id)
  return (not settled or tonumber(settled) <= now - SETTLED_ID_MS)
    and redis.call('HEXISTS', pending_key, request_id) == 0
end

-- Adds a request to a counter.
local function add(counter_key, pending_key, settled_key, request_id, charge, now)
  local lifetime = charge.forgotten_at - now
  redis.call('ZREMRANGEBYSCORE', settled_key, '-inf', now - SETTLED_ID_MS)
  redis.call('ZADD', settled_key, now, request_id)
  redis.call('PEXPIRE', settled_key, SETTLED_ID_MS)
  if redis.call('HINCRBY', counter_key, 'settled', charge.amount) > MOST_TOKENS then
    redis.call('HSET', counter_key, 'settled', MOST_TOKENS)
  end
  redis.call('PEXPIRE', counter_key, lifetime)
  if charge.has_ledger and redis.call('HLEN', pending_key) < charge.max_pending then
    redis.call('HSET', pending_key, request_id, charge.amount)
    redis.call('PEXPIRE', pending_key, lifetime)
  end
end
