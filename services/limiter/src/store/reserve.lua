-- Reserves what a request can cost in one budget or two, or takes back its slots and places.
-- KEYS: ended requests, window, returned slots and places of the key and of its group, then for each
--   budget: its counter, reserved amounts and their expiries.
-- ARGV: request id, cost, time of a test, then for each budget its amount, and 1 when it needs the
--   ledger's total.
-- Returns now, the number of the budget that lacks room or 0, what is spent of it or -1 when that
--   is unknown, and what others have reserved.

local request_id, cost, clock = ARGV[1], tonumber(ARGV[2]), clock_ms(ARGV[3])
if has_ended(KEYS[1], request_id, clock) then
  return { clock, 0, 0, 0 }
end
local budgets = (#ARGV - 3) / 2
local first = #KEYS - 3 * budgets
for n = 1, budgets do
  local at = first + 3 * (n - 1)
  local spent, base = day_tokens(KEYS[at + 1])
  local is_unknown = ARGV[3 + 2 * n] == '1' and not base
  local reserved = reserved_micros(KEYS[at + 2], KEYS[at + 3], clock)
  reserved = reserved - tonumber(redis.call('HGET', KEYS[at + 2], request_id) or 0)
  local amount = tonumber(ARGV[2 + 2 * n])
  -- A request that alone does not fit crosses a budget that is not spent, if nothing else is reserved.
  if is_unknown or spent + reserved + cost > amount and (reserved > 0 or spent >= amount) then
    for taken = 2, first, 3 do
      give_back(KEYS[taken], KEYS[taken + 1], request_id, clock)
      redis.call('ZREM', KEYS[taken + 2], request_id)
    end
    for other = 1, budgets do
      local of_other = first + 3 * (other - 1)
      free_reservation(KEYS[of_other + 2], KEYS[of_other + 3], request_id)
    end
    return { clock, n, is_unknown and -1 or spent, reserved }
  end
  take_reservation(KEYS[at + 2], KEYS[at + 3], request_id, ARGV[2], clock)
end
return { clock, 0, 0, 0 }
