-- Settles one request in several counters, and frees what it holds when it ends.
-- KEYS: ended requests, places of the key, places of its group, then for each counter: the counter,
--   pending requests, settled requests, reserved amounts and their expiries.
-- ARGV: request id, '1' when it ends, how many requests may be pending, time of a test, then for each
--   counter: amount, '1' when a ledger will have the request, when the counter is forgotten.
-- Returns for each counter: its value, and 1 when that includes the ledger's total or there is none.

local request_id, ends, max_pending, now = ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), clock_ms(ARGV[4])
local answer = {}
for n = 0, (#KEYS - 3) / 5 - 1 do
  local key, term = 3 + 5 * n, 4 + 3 * n
  local has_ledger = ARGV[term + 2] == '1'
  if ARGV[term + 1] ~= '0' and is_new(KEYS[key + 2], KEYS[key + 3], request_id, now) then
    add(KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], request_id, {
      amount = ARGV[term + 1], has_ledger = has_ledger, max_pending = max_pending, forgotten_at = tonumber(ARGV[term + 3]),
    }, now)
  end
  if ends then
    free_reservation(KEYS[key + 4], KEYS[key + 5], request_id)
  end
  local used, _, _, is_loaded = day_tokens(KEYS[key + 1])
  answer[2 * n + 1], answer[2 * n + 2] = used, (is_loaded or not has_ledger) and 1 or 0
end
if ends then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - SETTLED_ID_MS)
  redis.call('ZADD', KEYS[1], now, request_id)
  redis.call('PEXPIRE', KEYS[1], SETTLED_ID_MS)
  redis.call('ZREM', KEYS[2], request_id)
  redis.call('ZREM', KEYS[3], request_id)
end
return answer
