import type { TimeSource } from '@gateway/time/simulated';
import { currentProcess, type World } from './world.ts';
import { WorldImmediate, WorldTimer } from './world-timer.ts';

/** Time and chance of a world. Each process has its own clock and its own chance. */
export function timeSourceOf(world: World): TimeSource {
  const chance = () => world.seeded.of(`chance of ${currentProcess()?.name}`);
  const worldOf = () => world;
  return {
    epochMs: () => world.instantMs ?? Math.floor(world.nowMs) + (currentProcess()?.clockOffsetMs ?? 0),
    monotonicMs: () => world.elapsedMs,
    startTimer: (run, delayMs) => new WorldTimer(worldOf, run, { delayMs }),
    startInterval: (run, delayMs) => new WorldTimer(worldOf, run, { delayMs, repeats: true }),
    startImmediate: (run) => new WorldImmediate(world, run),
    random: () => chance().next(),
    randomBytes: (size) => Buffer.from(chance().bytes(size)),
  };
}
