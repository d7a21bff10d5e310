-- Settles one request.
-- KEYS: day counter, pending requests (id to tokens), settled requests (ids scored by time).
-- ARGV: request id, tokens, 1 when a ledger will have the request, how many requests may be pending,
--   when the day is forgotten, time of a test.
-- Returns {used tokens, 1 when they include the ledger's total or there is no ledger}.

local day_key, pending_key, settled_key = KEYS[1], KEYS[2], KEYS[3]
local request_id, tokens, has_ledger = ARGV[1], ARGV[2], ARGV[3] == '1'
local now = clock_ms(ARGV[6])

if tokens ~= '0' and is_new(pending_key, settled_key, request_id, now) then
  add(day_key, pending_key, settled_key, request_id, {
    amount = tokens, has_ledger = has_ledger, max_pending = tonumber(ARGV[4]), forgotten_at = tonumber(ARGV[5]),
  }, now)
end

local used, _, _, is_loaded = day_tokens(day_key)
return { used, (is_loaded or not has_ledger) and 1 or 0 }
