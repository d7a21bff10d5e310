-- Shared by the scripts for groups, budgets and requests at a time, after shared.lua.

-- How long a place of a running request is kept without being renewed.
local PLACE_MS = 15000

-- How long a reservation is kept that is neither settled nor renewed.
local RESERVED_MS = 30000

-- Entries further ahead than their lifetime were made before the clock was set back: they count as
-- made now.
local function pull_back(expiry_key, clock, lifetime)
  local last = entry_at(expiry_key, -1)
  if last and last > clock + lifetime then
    local ahead = redis.call('ZRANGEBYSCORE', expiry_key, string.format('(%.0f', clock + lifetime), '+inf')
    for _, request_id in ipairs(ahead) do
      redis.call('ZADD', expiry_key, clock + lifetime, request_id)
    end
  end
end

-- How many requests have a place.
local function places_taken(places_key, clock)
  pull_back(places_key, clock, PLACE_MS)
  redis.call('ZREMRANGEBYSCORE', places_key, '-inf', clock)
  return redis.call('ZCARD', places_key)
end

local function take_place(places_key, request_id, clock)
  redis.call('ZADD', places_key, clock + PLACE_MS, request_id)
  redis.call('PEXPIRE', places_key, PLACE_MS)
end

-- Reservations are a hash of amounts by request, whose sum has the empty name, and their expiries.
local function free_reservation(amounts_key, expiry_key, request_id)
  local micros = redis.call('HGET', amounts_key, request_id)
  if not micros then
    return false
  end
  redis.call('ZREM', expiry_key, request_id)
  redis.call('HDEL', amounts_key, request_id)
  if redis.call('ZCARD', expiry_key) == 0 then
    redis.call('DEL', amounts_key)
  elseif micros ~= '0' then
    -- Redis does not accept "-0".
    redis.call('HINCRBY', amounts_key, '', '-' .. micros)
  end
  return true
end

local function reserved_micros(amounts_key, expiry_key, clock)
  pull_back(expiry_key, clock, RESERVED_MS)
  for _, request_id in ipairs(redis.call('ZRANGEBYSCORE', expiry_key, '-inf', clock)) do
    free_reservation(amounts_key, expiry_key, request_id)
  end
  return tonumber(redis.call('HGET', amounts_key, '') or 0)
end

local function take_reservation(amounts_key, expiry_key, request_id, micros, clock)
  free_reservation(amounts_key, expiry_key, request_id)
  redis.call('ZADD', expiry_key, clock + RESERVED_MS, request_id)
  redis.call('HSET', amounts_key, request_id, micros)
  redis.call('HINCRBY', amounts_key, '', micros)
  redis.call('PEXPIRE', expiry_key, RESERVED_MS)
  redis.call('PEXPIRE', amounts_key, RESERVED_MS)
end

-- Requests that ended take nothing any more, whatever call arrives late.
local function has_ended(ended_key, request_id, clock)
  local ended = redis.call('ZSCORE', ended_key, request_id)
  return ended and tonumber(ended) > clock - SETTLED_ID_MS
end
