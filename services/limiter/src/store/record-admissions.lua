-- Adds requests that were admitted elsewhere to a window. Existing entries stay as they are.
-- KEYS: window.
-- ARGV: time of a test, then the id and the age in milliseconds of each request …

local window_key = KEYS[1]
local clock = clock_ms(ARGV[1])

advance(window_key, clock)
for index = 2, #ARGV, 2 do
  local age = tonumber(ARGV[index + 1])
  if age < WINDOW_MS then
    redis.call('ZADD', window_key, 'NX', clock - age, ARGV[index])
  end
end
local now = advance(window_key, clock)
redis.call('PEXPIRE', window_key, now - clock + WINDOW_MS + 1)
