-- KEYS: pending requests, ticket of the latest reconciliation.
-- ARGV: ticket, for how long no other may begin, '1' to begin all the same.
-- Answers the ids of pending requests, or nil when another reconciliation was begun a moment ago.

local pending_key, ticket_key = KEYS[1], KEYS[2]

if ARGV[3] == '1' then
  redis.call('SET', ticket_key, ARGV[1], 'PX', ARGV[2])
elseif not redis.call('SET', ticket_key, ARGV[1], 'NX', 'PX', ARGV[2]) then
  return false
end
return redis.call('HKEYS', pending_key)
