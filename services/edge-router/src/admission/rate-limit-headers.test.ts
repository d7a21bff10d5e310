import { describe, expect, it } from 'vitest';
import { formatDuration } from './admit.ts';

describe('formatDuration', () => {
  it.each([
    [0, '0s'],
    [-5, '0s'],
    [1, '1s'],
    [42_000, '42s'],
    [59_001, '1m0s'],
    [60_000, '1m0s'],
    [28_175_000, '7h49m35s'],
    [90_000_000, '25h0m0s'],
    [3_600_000, '1h0m0s'],
  ])('writes %i ms as %s', (durationMs, text) => {
    expect(formatDuration(durationMs)).toBe(text);
  });
});
