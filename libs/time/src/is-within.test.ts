import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isWithin } from './time.ts';

const durations = fc.integer({ min: 1, max: 1_000_000 });
const times = fc.integer({ min: 0, max: 4_000_000_000_000 });

describe('isWithin', () => {
  it('is true until the duration has passed, to the millisecond', () => {
    fc.assert(
      fc.property(durations, times, (durationMs, sinceMs) => {
        expect(isWithin(durationMs, sinceMs, sinceMs)).toBe(true);
        expect(isWithin(durationMs, sinceMs, sinceMs + durationMs - 1)).toBe(true);
        expect(isWithin(durationMs, sinceMs, sinceMs + durationMs)).toBe(false);
      }),
    );
  });

  it('is false when the clock was set back to before that time', () => {
    fc.assert(
      fc.property(durations, times, durations, (durationMs, sinceMs, backMs) => {
        expect(isWithin(durationMs, sinceMs, sinceMs - backMs)).toBe(false);
      }),
    );
  });

  it('is false for what never was', () => {
    expect(isWithin(1_000, Number.NEGATIVE_INFINITY, 0)).toBe(false);
  });
});
