-- Settles many requests.
-- KEYS: of each the day counter, pending requests (id to tokens), requests that count without being pending (id by when they
--   began to).
-- ARGV: how many requests may be pending, time of a test, then of each: request id, tokens, when the day is forgotten, known base
--   ('' when a ledger will have the request).
-- Answers of each {used tokens, 1 when the base is known}, one after the other.

local max_pending = tonumber(ARGV[1])

-- Takes note of a request, so that it is known again. Answers false when it counts already, 'unlisted' when only its tokens can
-- be kept, else 'noted'. What is kept of a day expires when that is forgotten: told once, when it begins.
local function note(pending_key, told_key, request_id, tokens, has_ledger, lifetime, now)
  local told = redis.call('ZSCORE', told_key, request_id)
  if told and tonumber(told) > now - TOLD_MS then
    return false
  end
  local pending = redis.call('HLEN', pending_key)
  if has_ledger and pending < max_pending then
    local is_new = redis.call('HSETNX', pending_key, request_id, tokens) == 1
    if pending == 0 then
      redis.call('PEXPIRE', pending_key, lifetime)
    end
    return is_new and 'noted'
  end
  if pending > 0 and redis.call('HEXISTS', pending_key, request_id) == 1 then
    return false
  end
  forget_told(told_key, now)
  remember_told(told_key, request_id, now)
  return has_ledger and 'unlisted' or 'noted'
end

local function settle(keys_before, arguments_before, now)
  local day_key, pending_key, told_key = KEYS[keys_before + 1], KEYS[keys_before + 2], KEYS[keys_before + 3]
  local request_id, tokens = ARGV[arguments_before + 1], ARGV[arguments_before + 2]
  local known_base = ARGV[arguments_before + 4]
  local lifetime = tonumber(ARGV[arguments_before + 3]) - now
  local noted = tokens ~= '0' and note(pending_key, told_key, request_id, tokens, known_base == '', lifetime, now)
  if noted then
    local is_first = add_tokens(day_key, 'settled', tokens) == tonumber(tokens)
    if noted == 'unlisted' then
      add_tokens(day_key, 'unlisted', tokens)
    end
    if is_first then
      redis.call('PEXPIRE', day_key, lifetime)
    end
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
