-- Raises a counter to a total that was known before the store lost its memory or came back as an older
-- copy. The next total of the ledger counts, whatever it is.
-- KEYS: counter.
-- ARGV: the known total, when the counter is forgotten, time of a test, 1 when a counter without a
--   total has lost it: what was settled since comes on top.

local used, base, settled = day_tokens(KEYS[1])
local known, lifetime = tonumber(ARGV[1]), tonumber(ARGV[2]) - clock_ms(ARGV[3])
local is_lost = ARGV[4] == '1' and not base
if lifetime <= 0 or (not is_lost and used >= known) then
  return {}
end
redis.call('HSET', KEYS[1], 'base', is_lost and known or known - settled, 'total', 0)
redis.call('PEXPIRE', KEYS[1], lifetime)
return {}
