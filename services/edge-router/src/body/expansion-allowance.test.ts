import { GatewayError } from '@gateway/errors';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ExpansionAllowance, freeDecodedBytes } from './expansion-allowance.ts';

const MiB = 1024 * 1024;

describe('the allowance of a token for what its bodies expand to', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('lets the largest body expand at once, several times', () => {
    const allowance = new ExpansionAllowance();
    for (let bodies = 0; bodies < 8; bodies += 1) expect(allowance.take('a', 64 * MiB, 5_000)).toBe(0);
    expect(allowance.take('a', MiB, 5_000)).toBeGreaterThan(0);
  });

  it('refills, so that what waits as told succeeds', () => {
    const allowance = new ExpansionAllowance();
    allowance.take('a', 512 * MiB, 0);
    const refused = refusalOf(() => allowance.take('a', 64 * MiB, 5_000));
    expect(refused.code).toBe('providers_unavailable');
    vi.advanceTimersByTime(refused.retryAfterMs ?? 0);
    expect(allowance.take('a', 512 * MiB, 0)).toBe(0);
  });

  it('makes a token wait no longer than it takes to refill what was taken', () => {
    const allowance = new ExpansionAllowance();
    allowance.take('a', 512 * MiB, 0);
    const waitMs = allowance.take('a', 16 * MiB, 5_000);
    expect(waitMs).toBeCloseTo(3_750);
    vi.advanceTimersByTime(3_750);
    expect(allowance.take('a', MiB, 5_000)).toBeLessThan(250);
  });

  it('takes nothing for what it refuses, and nothing from another token', () => {
    const allowance = new ExpansionAllowance();
    allowance.take('a', 512 * MiB, 0);
    for (let tries = 0; tries < 100; tries += 1) refusalOf(() => allowance.take('a', 64 * MiB, 5_000));
    expect(allowance.take('a', MiB, 5_000)).toBeLessThan(500);
    expect(allowance.take('b', 512 * MiB, 0)).toBe(0);
  });
});

it('a body may expand twentyfold, and to 1 MiB in any case', () => {
  expect(freeDecodedBytes(6_000)).toBe(MiB);
  expect(freeDecodedBytes(MiB)).toBe(20 * MiB);
});

function refusalOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error('It was not refused.');
}
