export type { Clock } from './clock.ts';
export { ManualClock, systemClock } from './clock.ts';
export { EventLoopYield } from './event-loop-yield.ts';
export type { LocalDay } from './local-day.ts';
export {
  addLocalDays,
  endOfLocalDayMs,
  isLocalDay,
  LOCAL_TIME_ZONE,
  localDayOf,
  nextLocalMidnightMs,
  startOfLocalDayMs,
} from './local-day.ts';
