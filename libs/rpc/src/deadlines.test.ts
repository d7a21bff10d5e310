import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startDeadline } from './deadlines.ts';

it('tells each deadline that passes once, also those that have passed already', async () => {
  const passed: number[] = [];
  for (const timeoutMs of [60, -5, 0, 30, 0.5]) startDeadline(timeoutMs, () => passed.push(timeoutMs));
  await expect.poll(() => passed.length).toBe(5);
  expect(passed.slice(3)).toEqual([30, 60]);
});

it('misses none, whenever in its tick it is set', async () => {
  let left = 0;
  for (let n = 0; n < 200; n++) {
    left++;
    startDeadline(0, () => left--);
    if (n % 10 === 0) await sleep(1);
    else if (n % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => left).toBe(0);
});

it('is not told what was cancelled', async () => {
  const passed: string[] = [];
  const cancelled = startDeadline(10, () => passed.push('cancelled'));
  startDeadline(10, () => passed.push('kept'));
  startDeadline(40, () => passed.push('last'));
  cancelled.cancel();
  await expect.poll(() => passed).toEqual(['kept', 'last']);
});

it('passes no deadline before its time', async () => {
  const early: number[] = [];
  const set = performance.now();
  const passed = [1, 7, 10, 19, 33].map(
    (timeoutMs) =>
      new Promise<void>((resolve) => {
        startDeadline(timeoutMs, () => {
          if (performance.now() < set + timeoutMs) early.push(timeoutMs);
          resolve();
        });
      }),
  );
  await Promise.all(passed);
  expect(early).toEqual([]);
});

it('sets no timer anew for calls that are all answered in time', async () => {
  const setTimeouts = vi.spyOn(globalThis, 'setTimeout');
  try {
    for (let n = 0; n < 50; n++) {
      startDeadline(500, () => expect.fail('it was cancelled')).cancel();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(setTimeouts.mock.calls.length).toBeLessThanOrEqual(1);
  } finally {
    setTimeouts.mockRestore();
  }
});

it('holds the process up while one is awaited, and not for what was cancelled', () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  const deadlines = [startDeadline(40, () => undefined), startDeadline(4_000, () => undefined)];
  expect(timers()).toBe(before + 1);
  for (const deadline of deadlines) deadline.cancel();
  expect(timers()).toBe(before);
  const again = startDeadline(5_000, () => undefined);
  expect(timers()).toBe(before + 1);
  again.cancel();
});

it('tells deadlines that others set when they pass', async () => {
  const passed: string[] = [];
  startDeadline(5, () => {
    passed.push('first');
    startDeadline(0, () => passed.push('at once'));
    startDeadline(20, () => passed.push('later'));
  });
  startDeadline(2_000, () => undefined).cancel();
  await expect.poll(() => passed).toEqual(['first', 'at once', 'later']);
});
