import { describe, expect, it } from 'vitest';
import { usedUpAtMs, usedUpText } from './quota-text.ts';

const nowMs = Date.parse('2026-11-22T12:00:00Z');
const hourMs = 3_600_000;

describe('a quota of an account', () => {
  /** A quota of five hours that began this many hours ago. */
  const after = (usedFraction: number, hoursAgo: number) => {
    const resetsAtMs = nowMs + (5 - hoursAgo) * hourMs;
    return usedUpAtMs({ usedFraction, resetsAtMs, lengthSeconds: 18_000 }, nowMs);
  };

  it('is used up when its average rate has used the rest', () => {
    expect(after(0.5, 2)).toBe(nowMs + 2 * hourMs);
    expect(after(0.8, 1)).toBe(nowMs + hourMs / 4);
  });

  it('is not used up before its reset at a slower rate, or is so already', () => {
    expect(after(0.2, 2)).toBeUndefined();
    expect([after(1, 2), after(1.2, 0)]).toEqual([nowMs, nowMs]);
  });

  it('has no forecast before it shows a rate', () => {
    expect([after(0, 2), after(0.1, 0.01)]).toEqual([undefined, undefined]);
    expect(usedUpAtMs({ usedFraction: 0.9, resetsAtMs: undefined, lengthSeconds: 18_000 }, nowMs)).toBeUndefined();
    expect(usedUpAtMs({ usedFraction: 0.9, resetsAtMs: nowMs, lengthSeconds: 0 }, nowMs)).toBeUndefined();
  });

  it('is named by its length', () => {
    expect(['5h', '7d', '30m', '5h_pro', ''].map(usedUpText)).toEqual([
      '5-hour quota used up',
      '7-day quota used up',
      '30-minute quota used up',
      '5h_pro quota used up',
      'no account available',
    ]);
  });
});
