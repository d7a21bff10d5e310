-- Decides a request by all kinds of limits of its key and of its group, or only reads their state.
-- KEYS: ended requests, then for the key and its group: window, day counter, places, budget counter,
--   reserved amounts and their expiries.
-- ARGV: start and end of the local day in the caller's keys, time of a test, request id ('' to read),
--   '1' when all limits can refuse and not only requests per minute, then for the key and its group:
--   requests per minute, tokens per day, requests at a time, amount of the budget (each '' for no
--   limit), '1' when the ledger's totals must be loaded, '2' when the ledger does not answer: then a
--   budget without a total refuses.
-- Returns kind, then for the key and its group: what is not loaded (1 the day, 2 the budget, 3 both),
--   now, entries, newest, freeing, used tokens, places, spent and reserved money. Kind: 1 totals
--   unknown, 2 admitted, 3 refused. A missing time is -1. On another day it returns only {now}.

local clock = clock_ms(ARGV[3])
if clock < tonumber(ARGV[1]) or clock >= tonumber(ARGV[2]) then
  return { clock }
end
local request_id, is_budgeted = ARGV[4], ARGV[5] == '1'

local subjects = {}
local has_room, is_loaded, is_known = true, true, has_ended(KEYS[1], request_id, clock)
for n = 0, (#KEYS - 1) / 6 - 1 do
  local key, term = 6 * n + 1, 5 * n + 5
  local one = {
    window_key = KEYS[key + 1], places_key = KEYS[key + 3], limit = tonumber(ARGV[term + 1]),
    places = tonumber(ARGV[term + 3]), unloaded = 0, now = clock, count = 0, newest = -1, freeing = -1,
    used = 0, running = 0, spent = 0, reserved = 0,
  }
  local tokens, budget, ledger = tonumber(ARGV[term + 2]), tonumber(ARGV[term + 4]), ARGV[term + 5]
  local base, loaded, _
  if tokens then
    one.used, _, _, loaded = day_tokens(KEYS[key + 2])
    one.unloaded = ledger == '1' and not loaded and 1 or 0
    has_room = has_room and not (is_budgeted and one.used >= tokens)
  end
  if budget then
    one.spent, base, _, loaded = day_tokens(KEYS[key + 4])
    local is_unknown = ledger == '2' and not base
    one.unloaded = one.unloaded + ((is_unknown or ledger == '1' and not loaded) and 2 or 0)
    one.reserved = reserved_micros(KEYS[key + 5], KEYS[key + 6], clock)
    has_room = has_room and not (is_budgeted and (is_unknown or one.spent + one.reserved >= budget))
  end
  one.running = places_taken(one.places_key, clock)
  is_known = is_known or redis.call('ZSCORE', one.places_key, request_id)
  if one.places then
    has_room = has_room and not (is_budgeted and one.running >= one.places)
  end
  if one.limit then
    one.now, one.count, one.newest = advance(one.window_key, clock)
    is_known = is_known or redis.call('ZSCORE', one.window_key, request_id)
    has_room = has_room and one.count < one.limit
  end
  is_loaded = is_loaded and (one.unloaded == 0 or ledger == '2')
  subjects[n + 1] = one
end

local takes = is_loaded and has_room and not is_known and request_id ~= ''
local answer = { not is_loaded and 1 or (has_room or is_known or request_id == '') and 2 or 3 }
for n, one in ipairs(subjects) do
  if takes and one.limit then
    redis.call('ZADD', one.window_key, one.now, request_id)
    redis.call('PEXPIRE', one.window_key, one.now - clock + WINDOW_MS + 1)
    one.count, one.newest = one.count + 1, one.now
  end
  if takes and one.places and is_budgeted then
    take_place(one.places_key, request_id, clock)
    one.running = one.running + 1
  end
  if one.limit and one.limit > 0 and one.count > 0 then
    one.freeing = entry_at(one.window_key, math.max(0, one.count - one.limit))
  end
  local at = 9 * (n - 1) + 1
  answer[at + 1], answer[at + 2], answer[at + 3], answer[at + 4] = one.unloaded, clock, one.count, one.newest
  answer[at + 5], answer[at + 6], answer[at + 7] = one.freeing, one.used, one.running
  answer[at + 8], answer[at + 9] = one.spent, one.reserved
end
return answer
