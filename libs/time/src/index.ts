export type { Clock } from './clock.ts';
export { EventLoopYield, ManualClock, systemClock } from './clock.ts';
export type { LocalDay } from './local-day.ts';
export {
  addLocalDays,
  endOfLocalDayMs,
  isLocalDay,
  LOCAL_TIME_ZONE,
  localDayOf,
  startOfLocalDayMs,
} from './local-day.ts';
