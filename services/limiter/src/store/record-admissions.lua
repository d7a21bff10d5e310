-- Adds requests that were admitted elsewhere to a window, and removes those that returned their slots.
-- Other entries stay as they are.
-- KEYS: window, returned slots.
-- ARGV: time of a test, then for each request: its id, its age in milliseconds, 1 when it returned its
--   slot that long ago …

local window_key, returned_key = KEYS[1], KEYS[2]
local clock = clock_ms(ARGV[1])

advance(window_key, clock)
for index = 2, #ARGV, 3 do
  local request_id, age = ARGV[index], tonumber(ARGV[index + 1])
  if age < WINDOW_MS and ARGV[index + 2] == '1' then
    give_back(window_key, returned_key, request_id, clock - age)
  elseif age < WINDOW_MS and not has_returned(returned_key, request_id, clock) then
    redis.call('ZADD', window_key, 'NX', clock - age, request_id)
  end
end
local now = advance(window_key, clock)
redis.call('PEXPIRE', window_key, now - clock + WINDOW_MS + 1)
