-- KEYS: day counter.
-- ARGV: tokens used before the counter began, when the day is forgotten, time of a test.
-- Answers the used tokens. A base that is there already stays, and so does everything settled since.

redis.call('HSETNX', KEYS[1], 'base', ARGV[1])
redis.call('PEXPIRE', KEYS[1], as_text(tonumber(ARGV[2]) - clock_ms(ARGV[3])))
return { (used_tokens(KEYS[1], ARGV[1])) }
