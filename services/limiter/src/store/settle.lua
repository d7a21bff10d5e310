-- KEYS: day counter, pending requests (id to tokens), requests that count without being pending (id by when they began to).
-- ARGV: request id, tokens, when the day is forgotten, known base ('' when a ledger will have the request), how many requests
--   may be pending, time of a test.
-- Answers {used tokens, 1 when the base is known}.

local day_key, pending_key, told_key = KEYS[1], KEYS[2], KEYS[3]
local request_id, tokens, known_base = ARGV[1], ARGV[2], ARGV[4]

local now = clock_ms(ARGV[6])
forget_told(told_key, now)

if tokens ~= '0' and redis.call('HEXISTS', pending_key, request_id) == 0 and not redis.call('ZSCORE', told_key, request_id) then
  local lifetime = as_text(tonumber(ARGV[3]) - now)
  add_tokens(day_key, 'settled', tonumber(tokens))
  if known_base ~= '' then
    remember_told(told_key, request_id, now)
  elseif redis.call('HLEN', pending_key) < tonumber(ARGV[5]) then
    redis.call('HSET', pending_key, request_id, tokens)
    redis.call('PEXPIRE', pending_key, lifetime)
  else
    add_tokens(day_key, 'unlisted', tonumber(tokens))
    remember_told(told_key, request_id, now)
  end
  redis.call('PEXPIRE', day_key, lifetime)
end

local used, settled = used_tokens(day_key, known_base)
if not used then
  return { settled, 0 }
end
return { used, 1 }
