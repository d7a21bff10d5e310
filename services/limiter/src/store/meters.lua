-- All of the limiter's work on windows, totals and leases. All times are epoch milliseconds.
-- KEYS: what the terms refer to by position, all with one hash tag.
-- ARGV: the name of a call at the end of this file, its terms as JSON, and the time of a test or ''.
-- Returns its answer as JSON, or nothing.

local WINDOW_MS = 60000
-- How long requests that settled, and those that ended, are remembered.
local SETTLED_ID_MS = 120000
-- The value of a counter that can no longer be exact.
local MOST_TOKENS = 9007199254740991
-- The total of a counter whose base is only what a replica saw.
local NOT_LOADED = '-1'
-- How many returned slots of a window are remembered.
local MOST_RETURNED = 1000

local terms = cjson.decode(ARGV[2])
-- Redis' own clock, so that all limiters agree. Tests pass a time of their own.
local clock = tonumber(ARGV[3])
if not clock then
  local time = redis.call('TIME')
  clock = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- JSON numbers have 14 digits here: a longer one is written as text.
local function whole(number)
  return number < 1e14 and number or string.format('%.0f', number)
end

local function score_at(key, index)
  return tonumber(redis.call('ZRANGE', key, index, index, 'WITHSCORES')[2])
end

-- Entries further ahead than `latest` were made before the clock was set back. When they were made is
-- unknown, but it was not after now.
local function pull_back(key, latest, to)
  for _, request_id in ipairs(redis.call('ZRANGEBYSCORE', key, '(' .. string.format('%.0f', latest), '+inf')) do
    redis.call('ZADD', key, to, request_id)
  end
end

-- Windows: a sorted set of request ids by the instant at which they took their slot.

-- Drops entries that are 60 seconds old. Returns the window's time, how many entries are left, and the
-- instant of the newest. After a failover the clock may lag behind existing entries: the window's time
-- never goes back.
local function advance(window)
  local newest = score_at(window, -1)
  if not newest then
    return clock, 0
  end
  if newest > clock + WINDOW_MS then
    pull_back(window, clock, clock)
    newest = clock
  end
  local now = math.max(clock, newest)
  redis.call('ZREMRANGEBYSCORE', window, '-inf', now - WINDOW_MS)
  local count = redis.call('ZCARD', window)
  return now, count, count > 0 and newest or nil
end

local function keep_window(window, now)
  redis.call('PEXPIRE', window, now - clock + WINDOW_MS + 1)
end

-- Admissions of a returned slot that are told later take none.
local function return_slot(window, returned, request_id, returned_at)
  redis.call('ZREM', window, request_id)
  redis.call('ZADD', returned, returned_at, request_id)
  redis.call('ZREMRANGEBYRANK', returned, 0, -1 - MOST_RETURNED)
  redis.call('PEXPIRE', returned, WINDOW_MS)
end

-- Leases: a hash of amounts by request, whose sum has the empty name, and a sorted set of their expiries.

local function free_lease(leases, request_id)
  local amounts, expiries = KEYS[leases.amounts], KEYS[leases.expiries]
  local amount = redis.call('HGET', amounts, request_id)
  if not amount then
    return false
  end
  redis.call('ZREM', expiries, request_id)
  redis.call('HDEL', amounts, request_id)
  if redis.call('ZCARD', expiries) == 0 then
    redis.call('DEL', amounts)
  elseif amount ~= '0' then
    -- Redis does not accept "-0".
    redis.call('HINCRBY', amounts, '', '-' .. amount)
  end
  return true
end

-- The sum of what is leased.
local function leased(leases)
  local expiries = KEYS[leases.expiries]
  local last = score_at(expiries, -1)
  if not last then
    return 0
  end
  if last > clock + leases.lifetime then
    pull_back(expiries, clock + leases.lifetime, clock + leases.lifetime)
  end
  for _, request_id in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', clock)) do
    free_lease(leases, request_id)
  end
  return tonumber(redis.call('HGET', KEYS[leases.amounts], '') or 0)
end

local function take_lease(leases, request_id, amount)
  local amounts, expiries = KEYS[leases.amounts], KEYS[leases.expiries]
  free_lease(leases, request_id)
  redis.call('ZADD', expiries, clock + leases.lifetime, request_id)
  redis.call('HSET', amounts, request_id, amount)
  redis.call('HINCRBY', amounts, '', amount)
  redis.call('PEXPIRE', expiries, leases.lifetime)
  redis.call('PEXPIRE', amounts, leases.lifetime)
end

-- Requests that ended take nothing any more, whatever call arrives late.
local function has_ended(ended, request_id)
  local ended_at = ended and tonumber(redis.call('ZSCORE', KEYS[ended], request_id) or nil)
  return ended_at and ended_at > clock - SETTLED_ID_MS
end

-- Totals: the part that the ledger has (base), what was settled beyond it, and the ledger's latest total.

-- What was used; the base, or nil if there is none; what was settled; whether the base is the ledger's.
local function read_total(counter)
  local total = redis.call('HMGET', counter, 'base', 'settled', 'total')
  local base, settled = tonumber(total[1]), tonumber(total[2] or 0)
  return (base or 0) + settled, base, settled, base and total[3] ~= NOT_LOADED
end

-- What is known of a meter, whether the request has it already, and the time of a window.
local read = {}

function read.window(meter, request_id)
  local now, used, newest = advance(KEYS[meter.window])
  return { used = used, newest = newest }, used > 0 and redis.call('ZSCORE', KEYS[meter.window], request_id), now
end

function read.lease(meter, request_id)
  local used = leased(meter.leases)
  return { used = used }, used > 0 and redis.call('HEXISTS', KEYS[meter.leases.amounts], request_id) == 1
end

function read.total(meter, request_id)
  local used, base, _, is_loaded = read_total(KEYS[meter.counter])
  local state = { used = used, unloaded = meter.ledger == 'needed' and not is_loaded or nil }
  if not meter.leases then
    return state
  end
  state.unknown = meter.is_money and meter.ledger == 'away' and not base or nil
  state.reserved = leased(meter.leases)
  return state, meter.cost > 0 and redis.call('HEXISTS', KEYS[meter.leases.amounts], request_id) == 1
end

-- The rule of `hasRoom` in libs/limits/src/meter.ts, which explains it.
local function has_room(meter, state)
  if meter.reports then
    return true
  end
  if meter.kind ~= 'total' then
    return state.used + meter.cost <= meter.limit
  end
  if state.unknown then
    return false
  end
  local used, reserved = state.used, state.reserved or 0
  if meter.cost == 0 then
    return used + reserved < meter.limit
  end
  return used + reserved + meter.cost <= meter.limit or (reserved == 0 and used < meter.limit)
end

local function take_meter(meter, state, request_id, now)
  if meter.kind == 'window' then
    redis.call('ZADD', KEYS[meter.window], now, request_id)
    keep_window(KEYS[meter.window], now)
    state.used, state.newest = state.used + 1, now
  else
    take_lease(meter.leases, request_id, meter.cost)
    local counted = meter.kind == 'lease' and 'used' or 'reserved'
    state[counted] = state[counted] + meter.cost
  end
end

-- Takes all meters of a request, or none if one of them lacks room.
local function take_all(request)
  local is_known, is_free, is_loaded = has_ended(request.ended, request.id), true, true
  local states, times = {}, {}
  for n, meter in ipairs(request.meters) do
    local state, is_held, now = read[meter.kind](meter, request.id)
    states[n], times[n] = state, now or 0
    is_known = is_known or is_held
    is_free = is_free and has_room(meter, state)
    is_loaded = is_loaded and not state.unloaded
  end
  for n, meter in ipairs(request.meters) do
    local state = states[n]
    if is_loaded and is_free and not is_known and meter.cost > 0 then
      take_meter(meter, state, request.id, times[n])
    end
    if meter.kind == 'window' and meter.limit > 0 and state.used > 0 then
      state.freeing = score_at(KEYS[meter.window], math.max(0, state.used - meter.limit))
    end
    state.used, state.reserved = whole(state.used), state.reserved and whole(state.reserved)
  end
  -- An empty list would become an object.
  return { taken = is_loaded and (is_known or is_free) and true, states = states[1] and states }
end

local calls = {}

-- Decides requests, if the clock is on the local day for which the keys are named.
function calls.take()
  if terms.starts and (clock < terms.starts or clock >= terms.ends) then
    return { now = clock }
  end
  local answers = {}
  for n, request in ipairs(terms.requests) do
    answers[n] = take_all(request)
  end
  return { now = clock, answers = answers }
end

-- Adds what a request used to totals, once, and frees its leases when it ends.
function calls.settle()
  local totals = {}
  for n, charge in ipairs(terms.charges) do
    local counter, pending, settled = KEYS[charge.counter], KEYS[charge.pending], KEYS[charge.settled]
    local settled_at = charge.amount > 0 and tonumber(redis.call('ZSCORE', settled, terms.id) or 0)
    if settled_at and settled_at <= clock - SETTLED_ID_MS and redis.call('HEXISTS', pending, terms.id) == 0 then
      redis.call('ZREMRANGEBYSCORE', settled, '-inf', clock - SETTLED_ID_MS)
      redis.call('ZADD', settled, clock, terms.id)
      redis.call('PEXPIRE', settled, SETTLED_ID_MS)
      if redis.call('HINCRBY', counter, 'settled', charge.amount) > MOST_TOKENS then
        redis.call('HSET', counter, 'settled', MOST_TOKENS)
      end
      redis.call('PEXPIRE', counter, charge.forgotten_at - clock)
      if charge.has_ledger and redis.call('HLEN', pending) < terms.most_pending then
        redis.call('HSET', pending, terms.id, charge.amount)
        redis.call('PEXPIRE', pending, charge.forgotten_at - clock)
      end
    end
    local used, _, _, is_loaded = read_total(counter)
    totals[n] = { used = whole(used), loaded = is_loaded or not charge.has_ledger }
  end
  if terms.ended then
    redis.call('ZREMRANGEBYSCORE', KEYS[terms.ended], '-inf', clock - SETTLED_ID_MS)
    redis.call('ZADD', KEYS[terms.ended], clock, terms.id)
    redis.call('PEXPIRE', KEYS[terms.ended], SETTLED_ID_MS)
    for _, leases in ipairs(terms.leases) do
      free_lease(leases, terms.id)
    end
  end
  return { totals = totals[1] and totals }
end

-- Keeps the leases of a running request, and takes again what was lost.
function calls.renew()
  if has_ended(terms.ended, terms.id) then
    return
  end
  for _, leases in ipairs(terms.leases) do
    leased(leases)
    take_lease(leases, terms.id, leases.amount)
  end
end

-- Returns the slots and leases of a request that was refused after all.
function calls.give_back()
  for _, slot in ipairs(terms.slots) do
    return_slot(KEYS[slot.window], KEYS[slot.returned], terms.id, clock)
  end
  for _, leases in ipairs(terms.leases) do
    free_lease(leases, terms.id)
  end
end

-- Adds requests that were admitted elsewhere to a window, and removes those that returned their slots.
-- Other entries stay as they are.
function calls.record()
  local window, returned = KEYS[terms.window], KEYS[terms.returned]
  advance(window)
  for _, entry in ipairs(terms.entries) do
    local returned_at = tonumber(redis.call('ZSCORE', returned, entry.id) or nil)
    if entry.age < WINDOW_MS and entry.is_returned then
      return_slot(window, returned, entry.id, clock - entry.age)
    elseif entry.age < WINDOW_MS and not (returned_at and math.abs(clock - returned_at) < WINDOW_MS) then
      redis.call('ZADD', window, 'NX', clock - entry.age, entry.id)
    end
  end
  keep_window(window, (advance(window)))
end

-- Compares a total with the ledger's.
function calls.reload()
  local counter, pending = KEYS[terms.counter], KEYS[terms.pending]
  local used, base, settled, is_loaded = read_total(counter)
  local before = is_loaded and whole(used) or nil
  for _, request_id in ipairs(terms.included) do
    if free_lease(terms.leases, request_id) then
      -- Its edge may settle it later than the ledger learned of it.
      redis.call('ZADD', KEYS[terms.settled], clock, request_id)
      redis.call('PEXPIRE', KEYS[terms.settled], SETTLED_ID_MS)
    end
  end
  local latest = tonumber(redis.call('HGET', counter, 'total') or nil)
  if latest and terms.total < latest and not terms.force then
    return { before = before, used = whole(used), pending = whole(settled), unasked = '0' }
  end

  for _, request_id in ipairs(terms.included) do
    redis.call('HDEL', pending, request_id)
  end
  local asked = {}
  for _, request_id in ipairs(terms.missing) do
    asked[request_id] = true
  end
  local waiting, unasked = 0, 0
  local entries = redis.call('HGETALL', pending)
  for index = 1, #entries, 2 do
    local amount = tonumber(entries[index + 1])
    waiting = math.min(MOST_TOKENS, waiting + amount)
    if not asked[entries[index]] then
      unasked = math.min(MOST_TOKENS, unasked + amount)
    end
  end
  if not is_loaded and terms.is_tentative and unasked > 0 then
    return { before = before, used = whole(used), pending = whole(settled), unasked = whole(unasked) }
  end

  redis.call('HSET', counter, 'total', terms.total)
  if terms.force or not is_loaded or #entries <= terms.most_pending then
    -- Requests that were not looked up may be in the total or not. A counter between the two values
    -- stays as it is.
    used = math.max(terms.total + waiting - unasked, math.min(terms.total + waiting, is_loaded and used or math.huge))
    settled = waiting
    redis.call('HSET', counter, 'base', used - settled, 'settled', settled)
  end
  redis.call('PEXPIRE', counter, terms.forgotten_at - clock)
  return { before = before, used = whole(used), pending = whole(settled), unasked = whole(unasked) }
end

-- Raises a total to one that was known before the store lost its memory or came back as an older copy.
-- The next total of the ledger counts, whatever it is, and is waited for.
function calls.raise()
  local counter = KEYS[terms.counter]
  local used, base, settled = read_total(counter)
  if terms.forgotten_at <= clock or base and used >= terms.known then
    return
  end
  -- Requests of a ledger are pending, but its total is missing: it was lost, and they came after that.
  local is_lost = not base and redis.call('EXISTS', KEYS[terms.pending]) == 1
  base = is_lost and terms.known or math.max(0, terms.known - settled)
  redis.call('HSET', counter, 'base', base, 'total', NOT_LOADED)
  redis.call('PEXPIRE', counter, terms.forgotten_at - clock)
end

-- Records that a replica is alive.
function calls.heartbeat()
  local group, silence = KEYS[1], terms.silence
  -- However late this heartbeat arrives, this is when the replica was last in touch. A replica that
  -- reports now counts in any case.
  local heard_of_at = math.max(clock - silence + 1, math.min(clock, terms.last_answered_at or clock))
  -- Comes before any other write: it fails when Redis has no memory left, and this call, which probes
  -- Redis, must fail too.
  local is_new = redis.call('ZADD', group, heard_of_at, terms.replica) == 1
  redis.call('ZREMRANGEBYSCORE', group, '-inf', clock - silence)
  -- Replicas that were heard from before the clock was set back.
  redis.call('ZREMRANGEBYSCORE', group, clock + silence, '+inf')
  redis.call('PEXPIRE', group, silence)
  local replicas, position = redis.call('ZRANGE', group, 0, -1), 0
  for _, other in ipairs(replicas) do
    position = position + (other < terms.replica and 1 or 0)
  end
  local longest_silence = math.max(0, clock - score_at(group, 0))
  return { replicas = #replicas, position = position, longest_silence = longest_silence, now = clock, is_new = is_new }
end

local answer = calls[ARGV[1]]()
return answer and cjson.encode(answer)
