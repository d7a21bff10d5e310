-- Keeps the places and the reservation of one running request, and takes again what was lost.
-- KEYS: ended requests, reserved amounts and their expiries, then places.
-- ARGV: request id, what it reserved (0: nothing), how long reservations are kept, time of a test.

local request_id, lifetime, clock = ARGV[1], tonumber(ARGV[3]), clock_ms(ARGV[4])
if has_ended(KEYS[1], request_id, clock) then
  return
end
for n = 4, #KEYS do
  places_taken(KEYS[n], clock)
  take_place(KEYS[n], request_id, clock)
end
if ARGV[2] ~= '0' then
  reserved_micros(KEYS[2], KEYS[3], clock, lifetime)
  if redis.call('HEXISTS', KEYS[2], request_id) == 0 then
    take_reservation(KEYS[2], KEYS[3], request_id, ARGV[2], clock, lifetime)
  end
end
