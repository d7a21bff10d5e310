-- Raises a counter to a total that was known before the store lost its memory or came back as an older
-- copy. The next total of the ledger counts, whatever it is, and is waited for.
-- KEYS: counter, pending requests.
-- ARGV: the known total, when the counter is forgotten, time of a test.

local used, base, settled = day_tokens(KEYS[1])
local known, lifetime = tonumber(ARGV[1]), tonumber(ARGV[2]) - clock_ms(ARGV[3])
if lifetime <= 0 or base and used >= known then
  return {}
end
-- Requests of a ledger are pending, but its total is missing: it was lost, and they came after that.
local is_lost = not base and redis.call('EXISTS', KEYS[2]) == 1
redis.call('HSET', KEYS[1], 'base', is_lost and known or math.max(0, known - settled), 'total', NOT_LOADED)
redis.call('PEXPIRE', KEYS[1], lifetime)
return {}
