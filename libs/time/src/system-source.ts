import { randomBytes, randomInt, randomUUID, randomUUIDv7 } from 'node:crypto';
import { setImmediate as realImmediate, setInterval as realInterval } from 'node:timers';
import type { FullTimeSource } from './time-source.ts';

/** The machine's own time and chance. It reads the globals at each call: tests replace them. */
export const systemSource: FullTimeSource = {
  epochMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  startTimer: (run, delayMs) => setTimeout(run, delayMs),
  startInterval: (run, intervalMs) => setInterval(run, intervalMs),
  startProcessInterval: (run, intervalMs) => realInterval(() => realImmediate(run), intervalMs),
  // Fake timers of tests have no `Symbol.dispose`.
  cancelTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  startImmediate: (run) => setImmediate(run),
  cancelImmediate: (immediate) => clearImmediate(immediate as NodeJS.Immediate | undefined),
  timeoutSignal: (delayMs) => AbortSignal.timeout(delayMs),
  random: () => Math.random(),
  randomInteger: (limit) => randomInt(limit),
  randomBytes: (size) => randomBytes(size),
  randomId: () => randomUUID(),
  timeOrderedId: () => randomUUIDv7(),
};
