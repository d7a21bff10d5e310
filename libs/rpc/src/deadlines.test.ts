import { useTimeSource } from '@gateway/time/simulated';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { deadlines } from './deadlines.ts';

describe('the deadlines of calls', () => {
  afterEach(() => void vi.useRealTimers());

  it('end late calls after a test that had fake timers', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] });
    const first = expiring(performance.now() - 1);
    await first.expired;
    vi.useRealTimers();
    await expiring(performance.now() - 1).expired;
  });

  it("end late calls in the time of a source that replaces the system's", () => {
    let nowMs = 0;
    const sweeps: (() => void)[] = [];
    const inactive = { unref: () => inactive, refresh: () => inactive, [Symbol.dispose]: () => undefined };
    const source = {
      ...{
        epochMs: () => nowMs,
        monotonicMs: () => nowMs,
        random: () => 0,
        randomBytes: (size: number) => Buffer.alloc(size),
      },
      startTimer: () => inactive,
      startInterval: (run: () => void) => {
        sweeps.push(run);
        return inactive;
      },
      startImmediate: (run: () => void) => {
        run();
        return inactive;
      },
    };
    const ofTheSystem = expiring(performance.now() - 1);
    {
      using _replaced = useTimeSource(source);
      const { expire } = expiring(1_000);
      nowMs = 999;
      for (const sweep of sweeps) sweep();
      expect(expire).not.toHaveBeenCalled();
      nowMs = 1_000;
      for (const sweep of sweeps) sweep();
      expect(expire).toHaveBeenCalledOnce();
      expect(ofTheSystem.expire).not.toHaveBeenCalled();
    }
  });

  it("end late calls in the system's time after such a source", async () => {
    await expiring(performance.now() - 1).expired;
  });
});

/** A call with this deadline, which is over when it expires. */
function expiring(deadlineMs: number) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const call = {
    deadlineMs,
    expire: vi.fn(() => {
      deadlines.delete(call);
      resolve();
    }),
  };
  deadlines.add(call);
  return { expire: call.expire, expired: promise };
}
