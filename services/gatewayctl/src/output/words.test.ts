import { expect, it } from 'vitest';
import { bytesText, durationText, timeText, withNamedZone } from './words.ts';

it.each([
  [0, '0.0 ms'],
  [3.14, '3.1 ms'],
  [9.97, '10 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [42_000, '42.0 s'],
  [99_990, '2 min'],
  [59.6 * 60_000, '1 h'],
  [5.5 * 3_600_000, '5 h 30 min'],
  [50 * 3_600_000, '2 d 2 h'],
])('%s ms is "%s"', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_536, '1.5 KiB'],
  [5 * 1_024 ** 3, '5.0 GiB'],
])('%s bytes are "%s"', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

it('a time has the name of its zone, also within a text of the gateway', () => {
  expect(timeText(Date.parse('2026-11-21T09:00:00.250Z'))).toBe('2026-11-21 09:00:00 UTC');
  expect(withNamedZone('cooling until 2026-11-21T09:00:00.000Z after 429')).toBe(
    'cooling until 2026-11-21 09:00:00 UTC after 429',
  );
});
