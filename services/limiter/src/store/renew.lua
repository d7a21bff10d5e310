-- Keeps the places and the reservation of one running request, and takes again what was lost.
-- KEYS: ended requests, reserved amounts and their expiries, then places.
-- ARGV: request id, what it reserved (0: nothing), time of a test.

local request_id, clock = ARGV[1], clock_ms(ARGV[3])
if has_ended(KEYS[1], request_id, clock) then
  return
end
for n = 4, #KEYS do
  places_taken(KEYS[n], clock)
  take_place(KEYS[n], request_id, clock)
end
if ARGV[2] ~= '0' then
  reserved_micros(KEYS[2], KEYS[3], clock)
  take_reservation(KEYS[2], KEYS[3], request_id, ARGV[2], clock)
end
