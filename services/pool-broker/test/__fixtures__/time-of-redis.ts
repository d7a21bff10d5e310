import { epochMs } from '@gateway/time';
import { ManualTime } from '@gateway/time/simulated';
import { onTestFinished, vi } from 'vitest';
import { RedisClock } from '../../src/store/redis-clock.ts';

/** Until the end of the test, Redis' clock and this machine's show the time that the test sets. */
export function timeOfRedis(): ManualTime {
  const time = new ManualTime(Date.now());
  const clock = vi.spyOn(RedisClock.prototype, 'nowMs').mockImplementation(epochMs);
  onTestFinished(() => {
    clock.mockRestore();
    time[Symbol.dispose]();
  });
  return time;
}
