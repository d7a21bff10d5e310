-- Settles one request.
-- KEYS: day counter, pending requests (id to tokens), settled requests (ids scored by time).
-- ARGV: request id, tokens, 1 when a ledger will have the request, how many requests may be pending,
--   when the day is forgotten, time of a test.
-- Returns {used tokens, 1 when they include the ledger's total or there is no ledger}.

local day_key, pending_key, settled_key = KEYS[1], KEYS[2], KEYS[3]
local request_id, tokens, has_ledger = ARGV[1], ARGV[2], ARGV[3] == '1'
local now = clock_ms(ARGV[6])

local function is_new()
  local settled = redis.call('ZSCORE', settled_key, request_id)
  return (not settled or tonumber(settled) <= now - SETTLED_ID_MS)
    and redis.call('HEXISTS', pending_key, request_id) == 0
end

if tokens ~= '0' and is_new() then
  local lifetime = tonumber(ARGV[5]) - now
  redis.call('ZREMRANGEBYSCORE', settled_key, '-inf', now - SETTLED_ID_MS)
  redis.call('ZADD', settled_key, now, request_id)
  redis.call('PEXPIRE', settled_key, SETTLED_ID_MS)
  if redis.call('HINCRBY', day_key, 'settled', tokens) > MOST_TOKENS then
    redis.call('HSET', day_key, 'settled', MOST_TOKENS)
  end
  redis.call('PEXPIRE', day_key, lifetime)
  if has_ledger and redis.call('HLEN', pending_key) < tonumber(ARGV[4]) then
    redis.call('HSET', pending_key, request_id, tokens)
    redis.call('PEXPIRE', pending_key, lifetime)
  end
end

local used, base = day_tokens(day_key)
return { used, (base or not has_ledger) and 1 or 0 }
