import { describe, expect, it } from 'vitest';
import { DiskPulse } from './disk-pulse.ts';

function setUp() {
  const state = { nowMs: 1_000, writes: 0 };
  const pulse = new DiskPulse(() => state.nowMs);
  const write = (durationMs = 0) =>
    pulse.tryAtOnce(() => {
      state.writes += 1;
      state.nowMs += durationMs;
    });
  return { pulse, state, write };
}

describe('DiskPulse', () => {
  it('lets nobody write at once before the disk has answered', () => {
    const { state, write } = setUp();
    expect(write()).toBe(false);
    expect(state.writes).toBe(0);
  });

  it('lets write at once for a while after the disk has answered', async () => {
    const { pulse, state, write } = setUp();
    await pulse.ask(async () => undefined);
    expect(write()).toBe(true);
    state.nowMs += 4_999;
    expect(write()).toBe(true);
    state.nowMs += 1;
    expect(write()).toBe(false);
    expect(state.writes).toBe(2);
  });

  it('counts from when the disk was asked', async () => {
    const { pulse, state, write } = setUp();
    await pulse.ask(async () => {
      state.nowMs += 5_000;
    });
    expect(write()).toBe(false);
  });

  it('lets nobody write at once while something is forced onto the disk, nor when that fails', async () => {
    const { pulse, write } = setUp();
    await pulse.ask(async () => undefined);
    const answer = Promise.withResolvers<void>();
    const asked = pulse.ask(() => answer.promise);
    expect(write()).toBe(false);
    answer.reject(new Error('input/output error'));
    await expect(asked).rejects.toThrow('input/output error');
    expect(write()).toBe(false);
  });

  it('takes a write that was slow, or that failed, for the last one until the disk answers again', async () => {
    const { pulse, write } = setUp();
    await pulse.ask(async () => undefined);
    expect([write(5), write(6), write()]).toEqual([true, true, false]);
    await pulse.ask(async () => undefined);
    const fail = () => {
      throw new Error('no space left on device');
    };
    expect(() => pulse.tryAtOnce(fail)).toThrow('no space left on device');
    expect(write()).toBe(false);
  });
});
