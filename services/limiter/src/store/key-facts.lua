-- What every script shares; it is put before each of them. All times are epoch milliseconds.

local WINDOW_MS = 60000
-- What a counter stands at when it can't be exact any more; larger numbers are not.
local MOST_TOKENS = 9007199254740991

-- Redis' own clock, so that every limiter agrees. Tests give a time of their own.
local function clock_ms(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function as_text(number)
  return string.format('%.0f', number)
end

local function entry_at(window_key, index)
  local entry = redis.call('ZRANGE', window_key, index, index, 'WITHSCORES')
  return tonumber(entry[2])
end

-- Instant of the newest entry; nil in an empty window. Entries further ahead of the clock than a replica lags behind were
-- made before the clock was set back. When that was is not known, but not after now: they count as made now.
local function newest_entry(window_key, clock)
  local newest = entry_at(window_key, -1)
  if not newest or newest <= clock + WINDOW_MS then
    return newest
  end
  for _, request_id in ipairs(redis.call('ZRANGEBYSCORE', window_key, '(' .. as_text(clock), '+inf')) do
    redis.call('ZADD', window_key, clock, request_id)
  end
  return clock
end

-- Numbers up to MOST_TOKENS that are given to redis.call arrive exactly.
local function expired_until(now)
  return now - WINDOW_MS
end

-- The entry whose leaving frees the next slot, of `count` in the window, which are the last of `all` in the key: the oldest, or a
-- later one when the limit was lowered below the count. -1 when the window is empty or the limit is 0.
local function freeing_entry(window_key, limit, count, all)
  if limit == 0 or count == 0 then
    return -1
  end
  return entry_at(window_key, all - math.min(limit, count))
end

-- Tokens of the day; nil when the counter has no base, neither its own nor one that the caller knows ('' for none).
local function used_tokens(day_key, known_base)
  local counter = redis.call('HMGET', day_key, 'base', 'settled')
  local base = tonumber(counter[1] or known_base)
  if not base then
    return nil, tonumber(counter[2] or 0)
  end
  return base + tonumber(counter[2] or 0)
end

-- Answers what the field stands at.
local function add_tokens(day_key, field, tokens)
  local sum = redis.call('HINCRBY', day_key, field, tokens)
  if sum > MOST_TOKENS then
    redis.call('HSET', day_key, field, MOST_TOKENS)
  end
  return sum
end

-- For how long a request that counts already is known again when it is settled once more.
local TOLD_MS = 120000

local function remember_told(told_key, request_id, now)
  redis.call('ZADD', told_key, now, request_id)
  redis.call('PEXPIRE', told_key, TOLD_MS)
end

local function forget_told(told_key, now)
  redis.call('ZREMRANGEBYSCORE', told_key, '-inf', now - TOLD_MS)
end
