-- Settles many requests.
-- KEYS: of each the day counter, pending requests (id to tokens), requests that count without being pending (id by when they
--   began to).
-- ARGV: how many requests may be pending, time of a test, then of each: request id, tokens, when the day is forgotten, known base
--   ('' when a ledger will have the request).
-- Answers of each {used tokens, 1 when the base is known}, one after the other.

local max_pending = tonumber(ARGV[1])

local function counts_already(pending_key, told_key, request_id, now)
  if redis.call('HEXISTS', pending_key, request_id) == 1 then
    return true
  end
  local told = redis.call('ZSCORE', told_key, request_id)
  return told and tonumber(told) > now - TOLD_MS
end

-- Takes note of a request that counts from now on, so that it is known again. False when only its tokens can be kept.
local function note(pending_key, told_key, request_id, tokens, has_ledger, lifetime, now)
  if has_ledger and redis.call('HLEN', pending_key) < max_pending then
    redis.call('HSET', pending_key, request_id, tokens)
    redis.call('PEXPIRE', pending_key, lifetime)
    return true
  end
  forget_told(told_key, now)
  remember_told(told_key, request_id, now)
  return not has_ledger
end

local function settle(keys_before, arguments_before, now)
  local day_key, pending_key, told_key = KEYS[keys_before + 1], KEYS[keys_before + 2], KEYS[keys_before + 3]
  local request_id, tokens = ARGV[arguments_before + 1], ARGV[arguments_before + 2]
  local known_base = ARGV[arguments_before + 4]
  if tokens ~= '0' and not counts_already(pending_key, told_key, request_id, now) then
    local lifetime = tonumber(ARGV[arguments_before + 3]) - now
    add_tokens(day_key, 'settled', tokens)
    if not note(pending_key, told_key, request_id, tokens, known_base == '', lifetime, now) then
      add_tokens(day_key, 'unlisted', tokens)
    end
    redis.call('PEXPIRE', day_key, lifetime)
  end
  local used, settled = used_tokens(day_key, known_base)
  if not used then
    return settled, 0
  end
  return used, 1
end

local now = clock_ms(ARGV[2])
local answers = {}
for index = 0, #KEYS / 3 - 1 do
  answers[2 * index + 1], answers[2 * index + 2] = settle(3 * index, 2 + 4 * index, now)
end
return answers
