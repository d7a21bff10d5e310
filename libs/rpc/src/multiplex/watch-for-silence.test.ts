import { useTimeSource } from '@gateway/time/simulated';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { usualSilence, watchForSilence } from './watch-for-silence.ts';

/** A watched connection, and the ticks of this process, however long each takes. */
function setUp({ isWaiting = true } = {}) {
  const ticks: (() => void)[] = [];
  const inactive = { unref: () => inactive, refresh: () => inactive, [Symbol.dispose]: () => undefined };
  const using = useTimeSource({
    epochMs: () => 0,
    monotonicMs: () => 0,
    random: () => 0,
    randomBytes: (size: number) => Buffer.alloc(size),
    startTimer: () => inactive,
    startInterval: (run: () => void) => {
      ticks.push(run);
      return inactive;
    },
    startImmediate: (run: () => void) => {
      run();
      return inactive;
    },
  });
  onTestFinished(() => using[Symbol.dispose]());
  const probes: PromiseWithResolvers<void>[] = [];
  const watched = {
    received: 0,
    isWaiting,
    onSilent: vi.fn(),
    probe() {
      const probe = Promise.withResolvers<void>();
      probes.push(probe);
      return probe.promise;
    },
  };
  watchForSilence(watched);
  const tick = (times: number) => {
    for (let n = 0; n < times; n++) for (const run of ticks) run();
  };
  return { watched, probes, tick };
}

const { waiting, idle, unanswered } = usualSilence;

describe('the watch over a connection', () => {
  it('asks for a sign of life after a while without any, sooner when a call waits', () => {
    for (const [isWaiting, after] of [
      [true, waiting],
      [false, idle],
    ] as const) {
      const { probes, tick } = setUp({ isWaiting });
      tick(after);
      expect(probes).toHaveLength(0);
      tick(1);
      expect(probes).toHaveLength(1);
    }
  });

  it('asks for none while something arrives', () => {
    const { watched, probes, tick } = setUp();
    for (let n = 0; n < 100; n++) {
      watched.received += 1;
      tick(waiting);
    }
    expect(probes).toHaveLength(0);
  });

  it('gives the connection up when no answer comes in its own time, and never before it asked', () => {
    const { watched, tick } = setUp();
    tick(waiting + 1 + unanswered - 1);
    expect(watched.onSilent).not.toHaveBeenCalled();
    tick(1);
    expect(watched.onSilent).toHaveBeenCalledOnce();
  });

  it.each(['the probe', 'a call'])('begins again when %s is answered late', async (what) => {
    const { watched, probes, tick } = setUp();
    tick(waiting + unanswered);
    if (what === 'a call') watched.received += 1;
    else probes[0]?.resolve();
    await Promise.resolve();
    tick(waiting);
    expect(watched.onSilent).not.toHaveBeenCalled();
    tick(2 + unanswered);
    expect([probes.length, watched.onSilent.mock.calls.length]).toEqual([2, 1]);
  });
});
