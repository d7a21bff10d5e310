-- Decides one request, or only reads.
-- KEYS: window, day counter.
-- ARGV: request id ('' to read), requests per minute, tokens per day (each '' for no limit), '1' when the day budget can refuse,
--   '1' when the ledger's total must have been loaded, start and end of the local day that the caller took the keys of, time of a test.
-- Answers {now, kind, entries, newest, freeing, used tokens}; kind: 1 total unknown, 2 admitted, 3 refused; times are -1 when
-- there is none. Only {now}, and nothing is decided, when it is another day.

local window_key, day_key, request_id = KEYS[1], KEYS[2], ARGV[1]
local limit, tokens_per_day = tonumber(ARGV[2]), tonumber(ARGV[3])

local clock = clock_ms(ARGV[8])
if clock < tonumber(ARGV[6]) or clock >= tonumber(ARGV[7]) then
  return { clock }
end

local used = 0
if tokens_per_day then
  local tokens, base = day_tokens(day_key)
  if ARGV[5] == '1' and not base then
    return { clock, 1 }
  end
  used = tokens
end
local admitted = not (ARGV[4] == '1' and tokens_per_day and used >= tokens_per_day)
if not limit then
  return { clock, admitted and 2 or 3, 0, -1, -1, used }
end

local now, count, newest = advance(window_key, clock)
if request_id ~= '' then
  if admitted and count < limit then
    -- A repeated call adds nothing: its slot is taken already.
    if redis.call('ZADD', window_key, 'NX', now, request_id) == 1 then
      redis.call('PEXPIRE', window_key, now - clock + WINDOW_MS + 1)
      count, newest = count + 1, now
    end
  else
    admitted = count > 0 and redis.call('ZSCORE', window_key, request_id)
  end
end

-- The entry whose leaving frees the next slot: the oldest, or a later one when the limit was lowered below the count.
local freeing = -1
if limit > 0 and count > 0 then
  freeing = entry_at(window_key, math.max(0, count - limit))
end
return { now, admitted and 2 or 3, count, newest, freeing, used }
