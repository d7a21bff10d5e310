import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuotaWindow } from '../accounts/attempt.ts';
import { healthy } from './account-health.ts';
import { withWindows } from './apply-report.ts';
import { headroomOf, paceOf, windowsAt } from './eligibility.ts';

const nowMs = 1_000_000;
const hourMs = 3_600_000;

const window = (rest: Partial<QuotaWindow> = {}): QuotaWindow => ({
  name: '5h',
  models: '',
  usedFraction: 0.5,
  resetsAtMs: nowMs + 2.5 * hourMs,
  lengthSeconds: 5 * 3_600,
  ...rest,
});

const knowing = (...windows: QuotaWindow[]) => withWindows(healthy, windows, nowMs);

describe('what is known of quotas', () => {
  it('is the latest word on each window', () => {
    const health = withWindows(knowing(window(), window({ name: '7d' })), [window({ usedFraction: 0.7 })], nowMs + 1);
    expect(windowsAt(health, nowMs).map(({ name, usedFraction }) => [name, usedFraction])).toEqual([
      ['7d', 0.5],
      ['5h', 0.7],
    ]);
  });

  it('is forgotten when the window begins anew, or after an hour when it did not say when', () => {
    expect(windowsAt(knowing(window()), nowMs + 2.5 * hourMs)).toEqual([]);
    const endless = knowing(window({ resetsAtMs: undefined }));
    expect(windowsAt(endless, nowMs + hourMs - 1)).toHaveLength(1);
    expect(windowsAt(endless, nowMs + hourMs)).toEqual([]);
  });

  it('is not written again for a change too small to matter, but now and then', () => {
    const health = knowing(window());
    expect(withWindows(health, [window({ usedFraction: 0.505 })], nowMs + 1_000)).toBe(health);
    expect(withWindows(health, [window({ usedFraction: 0.52 })], nowMs + 1_000)).not.toBe(health);
    expect(withWindows(health, [window()], nowMs + 60_000)).not.toBe(health);
    const full = knowing(window({ usedFraction: 0.999 }));
    expect(withWindows(full, [window({ usedFraction: 1 })], nowMs + 1)).not.toBe(full);
  });

  it('leaves out windows that are over before the next choice, and stays small', () => {
    expect(knowing(window({ resetsAtMs: nowMs + 300 }))).toBe(healthy);
    const many = Array.from({ length: 100 }, (_, n) => window({ name: 'requests', models: `model-${n}` }));
    expect(many.reduce((health, one) => withWindows(health, [one], nowMs), healthy).windows).toHaveLength(32);
  });
});

describe('headroom', () => {
  it('is that of the tightest window that the model falls under', () => {
    const health = knowing(window(), window({ name: '7d_opus', models: '*opus*', usedFraction: 0.9 }));
    expect(headroomOf(health, 'claude-opus-5', nowMs)).toBeCloseTo(0.1);
    expect(headroomOf(health, 'claude-haiku-4-5', nowMs)).toBeCloseTo(0.5);
    expect(headroomOf(healthy, 'm', nowMs)).toBe(1);
    expect(headroomOf(knowing(window({ usedFraction: 1.2 })), 'm', nowMs)).toBe(0);
  });
});

describe('pace', () => {
  it('is 1 when as much is left of a quota as of its time, and more the sooner it resets', () => {
    const paceAt = (resetInMs: number) => paceOf(knowing(window({ resetsAtMs: nowMs + resetInMs })), 'm', nowMs);
    expect(paceAt(2.5 * hourMs)).toBeCloseTo(1);
    expect(paceAt(1.25 * hourMs)).toBeCloseTo(2);
    expect(paceAt(5 * hourMs)).toBeCloseTo(0.5);
    expect(paceOf(healthy, 'm', nowMs)).toBe(1);
  });

  it('never lets an account lie idle or take all', () => {
    const anyWindow = fc.record({
      name: fc.constantFrom('5h', '7d'),
      models: fc.constantFrom('', 'm', '*x*'),
      usedFraction: fc.double({ min: 0, max: 3, noNaN: true }),
      resetsAtMs: fc.option(fc.integer({ min: nowMs - 10_000, max: nowMs + 1e9 }), { nil: undefined }),
      lengthSeconds: fc.integer({ min: 0, max: 1e6 }),
    });
    fc.assert(
      fc.property(fc.array(anyWindow), (windows) => {
        const pace = paceOf(knowing(...windows), 'm', nowMs);
        expect(pace).toBeGreaterThanOrEqual(0.25);
        expect(pace).toBeLessThanOrEqual(4);
      }),
    );
  });
});
