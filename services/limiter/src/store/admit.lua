-- KEYS: window, day counter.
-- ARGV: request id, requests per minute ('' for no limit), tokens per day ('' for no limit), '1' when the day budget can
--   refuse, start and end of the local day that the caller took the keys of, known base ('' for none), time of a test.
-- Answers {kind, now, entries, newest, blocking, used tokens}; kind: 0 another day, 1 base unknown, 2 admitted, 3 refused.

local window_key, day_key = KEYS[1], KEYS[2]
local request_id = ARGV[1]
local requests_per_minute, tokens_per_day = tonumber(ARGV[2]), tonumber(ARGV[3])
local budget_refuses = ARGV[4] == '1'

local now = clock_ms(ARGV[8])
if now < tonumber(ARGV[5]) or now >= tonumber(ARGV[6]) then
  return { 0, now, 0, -1, -1, 0 }
end

local used = 0
if tokens_per_day then
  used = used_tokens(day_key, ARGV[7])
  if not used then
    return { 1, now, 0, -1, -1, 0 }
  end
end

local admitted = not (budget_refuses and tokens_per_day and used >= tokens_per_day)
if not requests_per_minute then
  return { admitted and 2 or 3, now, 0, -1, -1, used }
end

-- After a failover the clock may lag behind entries that are there already: the window's time never goes back.
local clock = now
local newest = newest_entry(window_key, clock)
if newest then
  now = math.max(clock, newest)
  redis.call('ZREMRANGEBYSCORE', window_key, '-inf', expired_until(now))
end
local count = redis.call('ZCARD', window_key)

if count > 0 and redis.call('ZSCORE', window_key, request_id) then
  -- A repeated call: its slot is taken already.
  admitted = true
else
  admitted = admitted and count < requests_per_minute
  if admitted then
    redis.call('ZADD', window_key, as_text(now), request_id)
    redis.call('PEXPIRE', window_key, as_text(now - clock + WINDOW_MS + 1))
    count, newest = count + 1, now
  end
end

if count == 0 then
  newest = -1
end
local blocking = blocking_entry(window_key, requests_per_minute, count, count)
return { admitted and 2 or 3, now, count, newest, blocking, used }
