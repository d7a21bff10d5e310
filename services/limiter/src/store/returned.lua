-- Shared by the scripts that return slots, after shared.lua.

-- How many returned slots of a window are remembered.
local MOST_RETURNED = 1000

-- Returns the slot of a request that was refused after all. Admissions of it that are told later take
-- none.
local function give_back(window_key, returned_key, request_id, returned_at)
  redis.call('ZREM', window_key, request_id)
  redis.call('ZADD', returned_key, returned_at, request_id)
  redis.call('ZREMRANGEBYRANK', returned_key, 0, -1 - MOST_RETURNED)
  redis.call('PEXPIRE', returned_key, WINDOW_MS)
end

local function has_returned(returned_key, request_id, clock)
  local returned = redis.call('ZSCORE', returned_key, request_id)
  return returned and math.abs(clock - tonumber(returned)) < WINDOW_MS
end
