-- Decides requests, or only reads their state.
-- KEYS: window and day counter of each request.
-- ARGV: start and end of the local day in the caller's keys, time of a test, then for each request:
--   its id ('' to read), requests per minute, tokens per day (each '' for no limit), '1' when the day
--   budget can refuse, '1' when the ledger's total must be loaded.
-- Returns for each request: now, kind, entries, newest, freeing and used tokens. Kind: 1 total
-- unknown, 2 admitted, 3 refused. A missing time is -1. On another day it returns only {now} and
-- decides nothing.

local clock = clock_ms(ARGV[3])
if clock < tonumber(ARGV[1]) or clock >= tonumber(ARGV[2]) then
  return { clock }
end

local function decide(window_key, day_key, request_id, limit, tokens_per_day, is_budgeted, has_ledger)
  local used = 0
  if tokens_per_day then
    local tokens, _, _, is_loaded = day_tokens(day_key)
    if has_ledger and not is_loaded then
      return clock, 1, 0, -1, -1, 0
    end
    used = tokens
  end
  local admitted = not (is_budgeted and tokens_per_day and used >= tokens_per_day)
  if not limit then
    return clock, admitted and 2 or 3, 0, -1, -1, used
  end

  local now, count, newest = advance(window_key, clock)
  if request_id ~= '' then
    if admitted and count < limit then
      -- A repeated call adds nothing, because it already has its slot.
      if redis.call('ZADD', window_key, 'NX', now, request_id) == 1 then
        redis.call('PEXPIRE', window_key, now - clock + WINDOW_MS + 1)
        count, newest = count + 1, now
      end
    else
      admitted = count > 0 and redis.call('ZSCORE', window_key, request_id)
    end
  end

  -- The entry that frees the next slot when it leaves: the oldest, or a later one when the limit was
  -- lowered below the count.
  local freeing = -1
  if limit > 0 and count > 0 then
    freeing = entry_at(window_key, math.max(0, count - limit))
  end
  return clock, admitted and 2 or 3, count, newest, freeing, used
end

local answers = {}
for n = 0, #KEYS / 2 - 1 do
  local term = 4 + 5 * n
  local at = 6 * n
  answers[at + 1], answers[at + 2], answers[at + 3], answers[at + 4], answers[at + 5], answers[at + 6] = decide(
    KEYS[2 * n + 1], KEYS[2 * n + 2], ARGV[term], tonumber(ARGV[term + 1]), tonumber(ARGV[term + 2]), ARGV[term + 3] == '1',
    ARGV[term + 4] == '1')
end
return answers
