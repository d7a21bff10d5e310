-- Records that a replica lives.
-- KEYS: the replicas of its group, by when they were heard of last.
-- ARGV: the replica, for how many milliseconds it may be silent, when the last answer was given that it got or '', time of a test.
-- Answers {replicas, how many of them come before this one in the order of their names, for how long the quietest of them was silent, now}

local group_key, replica, silence = KEYS[1], ARGV[1], tonumber(ARGV[2])
local now = clock_ms(ARGV[4])
-- However late this comes: so long ago the replica is known to have been in touch. The one that says so now counts.
local heard_of_at = math.max(now - silence + 1, math.min(now, tonumber(ARGV[3]) or now))

-- Before any other write: then it fails when Redis has no memory left, and so does this call, by which Redis is probed.
redis.call('ZADD', group_key, heard_of_at, replica)
redis.call('ZREMRANGEBYSCORE', group_key, '-inf', now - silence)
-- Those that were heard of before the clock was set back.
redis.call('ZREMRANGEBYSCORE', group_key, now + silence, '+inf')
redis.call('PEXPIRE', group_key, silence)
local replicas, position = redis.call('ZRANGE', group_key, 0, -1), 0
for _, other in ipairs(replicas) do
  if other < replica then
    position = position + 1
  end
end
return { #replicas, position, math.max(0, now - entry_at(group_key, 0)), now }
