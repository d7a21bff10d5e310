-- KEYS: day counter, ids settled on that day.
-- ARGV: request id, tokens, when the day is forgotten, known base ('' for none), '1' when told again after an outage,
--   time of a test.
-- Answers {used tokens, 1 when the base is known}.

local day_key, settled_key = KEYS[1], KEYS[2]
local request_id, tokens = ARGV[1], ARGV[2]

-- Without a base after an outage, the base that is loaded later holds this request: adding it would count it twice.
local left_to_ledger = ARGV[5] == '1' and not used_tokens(day_key, ARGV[4])

if tokens ~= '0' and not left_to_ledger and redis.call('SISMEMBER', settled_key, request_id) == 0 then
  local lifetime = as_text(tonumber(ARGV[3]) - clock_ms(ARGV[6]))
  -- First what can fail: a script that stops half-way is not undone.
  redis.call('HINCRBY', day_key, 'settled', tokens)
  redis.call('SADD', settled_key, request_id)
  redis.call('PEXPIRE', day_key, lifetime)
  redis.call('PEXPIRE', settled_key, lifetime)
end

local used, settled = used_tokens(day_key, ARGV[4])
if not used then
  return { settled, 0 }
end
return { used, 1 }
