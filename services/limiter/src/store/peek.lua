-- Reads what admit.lua reads and takes nothing.
-- KEYS: window, day counter.
-- ARGV: requests per minute ('' for no limit), tokens per day ('' for no limit), start and end of the local day that the
--   caller took the keys of, known base ('' for none), time of a test.
-- Answers {now, kind, entries, newest, freeing, used tokens}; kind: 1 base unknown, 2 read. Only {now} when it is another day.

local window_key, day_key = KEYS[1], KEYS[2]
local requests_per_minute, tokens_per_day = tonumber(ARGV[1]), tonumber(ARGV[2])

local now = clock_ms(ARGV[6])
if now < tonumber(ARGV[3]) or now >= tonumber(ARGV[4]) then
  return { now }
end

local used = 0
if tokens_per_day then
  used = used_tokens(day_key, ARGV[5])
  if not used then
    return { now, 1, 0, -1, -1, 0 }
  end
end

if not requests_per_minute then
  return { now, 2, 0, -1, -1, used }
end
local newest = newest_entry(window_key, now)
now = math.max(now, newest or now)
local all = redis.call('ZCARD', window_key)
local count = all - redis.call('ZCOUNT', window_key, '-inf', expired_until(now))
if count == 0 then
  newest = -1
end
return { now, 2, count, newest, freeing_entry(window_key, requests_per_minute, count, all), used }
