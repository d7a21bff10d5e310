-- Compares a counter with the ledger's total.
-- KEYS: counter, pending requests (id to amount), and for a budget: reserved amounts, their expiries
--   and settled requests.
-- ARGV: the ledger's total, 1 to accept a total below an earlier one, how many requests may be
--   pending, when the counter is forgotten, time of a test, 1 to load no total while requests are pending
--   that were not looked up in the ledger, how many of the requests that were looked up are in the
--   total, their ids, ids of those that are not …
-- Returns {used tokens before or -1, used tokens, tokens still pending, the part of these that was not
--   looked up}.

local day_key, pending_key = KEYS[1], KEYS[2]
local total, force, included = tonumber(ARGV[1]), ARGV[2] == '1', tonumber(ARGV[7])
local used, base, settled, is_loaded = day_tokens(day_key)
local before = is_loaded and used or -1
if #KEYS > 2 then
  for index = 8, 7 + included do
    if free_reservation(KEYS[3], KEYS[4], ARGV[index]) then
      -- Its edge may settle it later than the ledger learned of it.
      redis.call('ZADD', KEYS[5], clock_ms(ARGV[5]), ARGV[index])
      redis.call('PEXPIRE', KEYS[5], SETTLED_ID_MS)
    end
  end
end
-- A limiter of the previous release stores the latest total in the base.
local latest = tonumber(redis.call('HGET', day_key, 'total')) or base
if latest and total < latest and not force then
  return { before, used, settled, 0 }
end

local asked = {}
for index = 8, #ARGV do
  if index < 8 + included then
    redis.call('HDEL', pending_key, ARGV[index])
  else
    asked[ARGV[index]] = true
  end
end
local pending, unasked = 0, 0
local entries = redis.call('HGETALL', pending_key)
for index = 1, #entries, 2 do
  local tokens = tonumber(entries[index + 1])
  pending = math.min(MOST_TOKENS, pending + tokens)
  if not asked[entries[index]] then
    unasked = math.min(MOST_TOKENS, unasked + tokens)
  end
end
if not is_loaded and ARGV[6] == '1' and unasked > 0 then
  return { before, used, settled, unasked }
end

redis.call('HSET', day_key, 'total', total)
if force or not is_loaded or #entries <= tonumber(ARGV[3]) then
  -- Requests that were not looked up may be in the total or not. A counter between the two values
  -- stays as it is.
  used = math.max(total + pending - unasked, math.min(total + pending, is_loaded and used or math.huge))
  settled = pending
  redis.call('HSET', day_key, 'base', used - settled, 'settled', settled)
end
redis.call('PEXPIRE', day_key, tonumber(ARGV[4]) - clock_ms(ARGV[5]))
return { before, used, settled, unasked }
