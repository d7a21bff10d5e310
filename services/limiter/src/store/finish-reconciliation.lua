-- KEYS: day counter, pending requests, requests that count without being pending, ticket of the latest reconciliation.
-- ARGV: ticket, the ledger's total, when the day is forgotten, '1' to believe a total below the base, how many requests may
--   be pending, time of a test, ids of requests that are in the total …
-- Answers {1, used tokens before or -1, used tokens, tokens still pending}, or {0} when the ticket is not the latest.

local day_key, pending_key, told_key, ticket_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

if redis.call('GET', ticket_key) ~= ARGV[1] then
  return { 0 }
end
local now = clock_ms(ARGV[6])
local before, settled = used_tokens(day_key, '')
if before then
  settled = before - tonumber(redis.call('HGET', day_key, 'base'))
end

local base = tonumber(ARGV[2])
if before and ARGV[4] ~= '1' then
  base = math.max(base, before - settled)
end
local included = 0
for index = 7, #ARGV do
  local tokens = redis.call('HGET', pending_key, ARGV[index])
  if tokens then
    included = included + tonumber(tokens)
    redis.call('HDEL', pending_key, ARGV[index])
    redis.call('ZADD', told_key, now, ARGV[index])
  end
end
if included > 0 then
  redis.call('PEXPIRE', told_key, TOLD_MS)
end
settled = math.max(0, settled - included)
-- Requests that were settled while too many were pending have no ids to ask for. They are in the ledger when it has caught
-- up with those that have.
if redis.call('HLEN', pending_key) * 2 <= tonumber(ARGV[5]) then
  settled = math.max(0, settled - tonumber(redis.call('HGET', day_key, 'unlisted') or 0))
  redis.call('HDEL', day_key, 'unlisted')
end
redis.call('HSET', day_key, 'base', as_text(base), 'settled', as_text(settled))
redis.call('PEXPIRE', day_key, as_text(tonumber(ARGV[3]) - now))
forget_told(told_key, now)

return { 1, before or -1, base + settled, settled }
