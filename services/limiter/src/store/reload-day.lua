-- Gives a day's counter the ledger's total. What is settled and not in it stays on top of it.
-- KEYS: day counter, pending requests (id to tokens).
-- ARGV: the ledger's total, 1 to believe a total below an earlier one, how many may be pending, when the day is forgotten, time of a
--   test, ids of requests that are in the total …
-- Answers {used tokens before or -1, used tokens, tokens still pending}.

local day_key, pending_key = KEYS[1], KEYS[2]
local total, force = tonumber(ARGV[1]), ARGV[2] == '1'
local used, base, settled = day_tokens(day_key)
local before = base and used or -1

for index = 6, #ARGV do
  redis.call('HDEL', pending_key, ARGV[index])
end
local pending = redis.call('HVALS', pending_key)
if force or not base or #pending * 2 <= tonumber(ARGV[3]) then
  base = force and total or math.max(total, base or 0)
  settled = 0
  for _, tokens in ipairs(pending) do
    settled = math.min(MOST_TOKENS, settled + tonumber(tokens))
  end
  redis.call('HSET', day_key, 'base', base, 'settled', settled)
  redis.call('PEXPIRE', day_key, tonumber(ARGV[4]) - clock_ms(ARGV[5]))
end
return { before, base + settled, settled }
