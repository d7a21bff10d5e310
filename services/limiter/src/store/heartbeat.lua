-- Records that a replica is alive.
-- KEYS: the replicas of its group, scored by when they were last heard from.
-- ARGV: the replica, for how many milliseconds it may be silent, when the last answer that it got
--   was given or '', time of a test.
-- Returns {replicas, how many of them sort before this one by name, the longest silence among them,
--   now, 1 when this one was not known}

local group_key, replica, silence = KEYS[1], ARGV[1], tonumber(ARGV[2])
local now = clock_ms(ARGV[4])
-- However late this heartbeat arrives, this is when the replica was last in touch. A replica that
-- reports now counts in any case.
local heard_of_at = math.max(now - silence + 1, math.min(now, tonumber(ARGV[3]) or now))

-- Comes before any other write: it fails when Redis has no memory left, and this call, which probes
-- Redis, must fail too.
local is_new = redis.call('ZADD', group_key, heard_of_at, replica)
redis.call('ZREMRANGEBYSCORE', group_key, '-inf', now - silence)
-- Replicas that were heard from before the clock was set back.
redis.call('ZREMRANGEBYSCORE', group_key, now + silence, '+inf')
redis.call('PEXPIRE', group_key, silence)
local replicas, position = redis.call('ZRANGE', group_key, 0, -1), 0
for _, other in ipairs(replicas) do
  if other < replica then
    position = position + 1
  end
end
return { #replicas, position, math.max(0, now - entry_at(group_key, 0)), now, is_new }
