-- KEYS: window.
-- ARGV: time of a test, then the id and the age in milliseconds of each request that was admitted elsewhere …
-- Answers {entries}. What is in the window already stays where it is.

local window_key = KEYS[1]
local clock = clock_ms(ARGV[1])

-- The window's time, after what is too old has left; nil when it is empty.
local function look()
  local newest = newest_entry(window_key, clock)
  if newest then
    local now = math.max(newest, clock)
    redis.call('ZREMRANGEBYSCORE', window_key, '-inf', expired_until(now))
    return now
  end
end

look()
for index = 2, #ARGV, 2 do
  local age = tonumber(ARGV[index + 1])
  if age < WINDOW_MS then
    redis.call('ZADD', window_key, 'NX', as_text(clock - age), ARGV[index])
  end
end
local now = look()
if now then
  redis.call('PEXPIRE', window_key, as_text(now - clock + WINDOW_MS + 1))
end
return { redis.call('ZCARD', window_key) }
