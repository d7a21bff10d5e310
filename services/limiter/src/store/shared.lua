-- Shared by all scripts: it is prepended to each of them. All times are epoch milliseconds.

local WINDOW_MS = 60000
-- How long a settled request is remembered.
local SETTLED_ID_MS = 120000
-- The value of a counter that can no longer be exact.
local MOST_TOKENS = 9007199254740991

-- Redis' own clock, so that all limiters agree. Tests pass a time of their own.
local function clock_ms(given)
  if given ~= '' then
    return tonumber(given)
  end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function entry_at(window_key, index)
  return tonumber(redis.call('ZRANGE', window_key, index, index, 'WITHSCORES')[2])
end

-- Drops entries that are 60 seconds old. Returns the window's time, how many entries are left, and the
-- instant of the newest or -1. After a failover the clock may lag behind existing entries: the
-- window's time never goes back.
local function advance(window_key, clock)
  local newest = entry_at(window_key, -1)
  if not newest then
    return clock, 0, -1
  end
  -- Entries further ahead than a replica can lag were made before the clock was set back. When they
  -- were made is unknown, but it was not after now: they count as made now.
  if newest > clock + WINDOW_MS then
    for _, request_id in ipairs(redis.call('ZRANGEBYSCORE', window_key, string.format('(%.0f', clock), '+inf')) do
      redis.call('ZADD', window_key, clock, request_id)
    end
    newest = clock
  end
  local now = math.max(clock, newest)
  redis.call('ZREMRANGEBYSCORE', window_key, '-inf', now - WINDOW_MS)
  local count = redis.call('ZCARD', window_key)
  return now, count, count == 0 and -1 or newest
end

-- The total of a counter whose base is only what a replica saw.
local NOT_LOADED = '-1'

-- The day's tokens, and their parts: the base (nil if there is none) and what was settled beyond it;
-- then whether the base is the ledger's.
local function day_tokens(day_key)
  local counter = redis.call('HMGET', day_key, 'base', 'settled', 'total')
  local base, settled = tonumber(counter[1]), tonumber(counter[2] or 0)
  return (base or 0) + settled, base, settled, base and counter[3] ~= NOT_LOADED
end
