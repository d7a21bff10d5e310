import { describe, expect, it } from 'vitest';
import { firstIdAt, timesOfId } from './request-id.ts';

const id = '01a205af-3cfd-7cc1-9fd7-1b2342903f8c';
const madeAtMs = Date.parse('2026-11-23T01:35:00.221Z');

describe('the time of a request id', () => {
  it('is exact for a whole one, and a range for the beginning of one', () => {
    const whole = timesOfId(id);
    expect(whole?.firstMs).toBe(whole?.lastMs);
    expect(Math.abs((whole?.firstMs ?? 0) - madeAtMs)).toBeLessThan(86_400_000);
    for (let length = 8; length < id.length; length++) {
      const { firstMs, lastMs } = timesOfId(id.slice(0, length)) ?? { firstMs: Infinity, lastMs: 0 };
      expect(firstMs).toBeLessThanOrEqual(whole?.firstMs ?? 0);
      expect(lastMs).toBeGreaterThanOrEqual(whole?.lastMs ?? Infinity);
    }
  });

  it.each(['', '01a205a', 'run-17', '01a205af3', '01a205af-3cfd-4', 'ffffffff', '3f2a1b2c-0f00', `${id}0`])(
    'is not said by %j',
    (text) => {
      expect(timesOfId(text)).toBeUndefined();
    },
  );

  it('has no id before the first one of its millisecond', () => {
    const { firstMs = 0 } = timesOfId(id) ?? {};
    expect(firstIdAt(firstMs) <= id).toBe(true);
    expect(firstIdAt(firstMs + 1) > id).toBe(true);
  });
});
