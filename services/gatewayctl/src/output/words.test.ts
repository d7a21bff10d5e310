import { expect, it } from 'vitest';
import { durationText } from './words.ts';

it.each([
  [0, '0.0 ms'],
  [3.14, '3.1 ms'],
  [9.97, '10 ms'],
  [999.4, '999 ms'],
  [999.6, '1.0 s'],
  [42_000, '42.0 s'],
  [99_990, '2 min'],
  [59.6 * 60_000, '1 h 0 min'],
  [5.5 * 3_600_000, '5 h 30 min'],
  [50 * 3_600_000, '2 d 2 h'],
])('%s ms is "%s"', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});
