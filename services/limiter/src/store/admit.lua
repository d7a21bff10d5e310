-- Decides many checks, one after the other, all at one instant.
-- KEYS: of each check the window and the day counter.
-- ARGV: start and end of the local day that the caller took the keys of, time of a test, then of each check the request id and
--   its terms, see read_terms.
-- Answers {now, then of each check: kind, entries, newest, freeing, used tokens}; kind: 1 base unknown, 2 admitted, 3 refused.
-- Only {now}, and nothing is decided, when it is another day.

-- 'a b c d': requests per minute and tokens per day (each empty for no limit), 1 when the day budget can refuse, and the known
-- base (empty for none). Most checks of a batch have the same.
local terms_of = {}
local function read_terms(text)
  local terms = terms_of[text]
  if not terms then
    local requests_per_minute, tokens_per_day, budget_refuses, known_base = string.match(text, '^(%d*) (%d*) (%d) (%d*)$')
    terms = {
      requests_per_minute = tonumber(requests_per_minute),
      tokens_per_day = tonumber(tokens_per_day),
      budget_refuses = budget_refuses == '1',
      known_base = known_base,
    }
    terms_of[text] = terms
  end
  return terms
end

-- The window's time and its entries, after what is too old has left. After a failover the clock may lag behind entries that are
-- there already: the window's time never goes back.
local function look(window_key, clock)
  local newest = newest_entry(window_key, clock)
  if not newest then
    return clock, 0, -1
  end
  local now = math.max(clock, newest)
  redis.call('ZREMRANGEBYSCORE', window_key, '-inf', expired_until(now))
  local count = redis.call('ZCARD', window_key)
  return now, count, count == 0 and -1 or newest
end

local function decide(window_key, day_key, request_id, terms, clock)
  local used = 0
  if terms.tokens_per_day then
    used = used_tokens(day_key, terms.known_base)
    if not used then
      return 1, 0, -1, -1, 0
    end
  end
  local admitted = not (terms.budget_refuses and terms.tokens_per_day and used >= terms.tokens_per_day)
  local limit = terms.requests_per_minute
  if not limit then
    return admitted and 2 or 3, 0, -1, -1, used
  end

  local now, count, newest = look(window_key, clock)
  if admitted and count < limit then
    -- A repeated call adds nothing: its slot is taken already.
    if redis.call('ZADD', window_key, 'NX', now, request_id) == 1 then
      redis.call('PEXPIRE', window_key, now - clock + WINDOW_MS + 1)
      count, newest = count + 1, now
    end
  else
    admitted = count > 0 and redis.call('ZSCORE', window_key, request_id)
  end
  return admitted and 2 or 3, count, newest, freeing_entry(window_key, limit, count, count), used
end

local clock = clock_ms(ARGV[3])
local answers = { clock }
if clock < tonumber(ARGV[1]) or clock >= tonumber(ARGV[2]) then
  return answers
end
for check = 1, #KEYS / 2 do
  local kind, count, newest, freeing, used =
    decide(KEYS[2 * check - 1], KEYS[2 * check], ARGV[2 + 2 * check], read_terms(ARGV[3 + 2 * check]), clock)
  local last = 5 * check - 4
  answers[last + 1], answers[last + 2], answers[last + 3] = kind, count, newest
  answers[last + 4], answers[last + 5] = freeing, used
end
return answers
