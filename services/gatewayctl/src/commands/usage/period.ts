import { addLocalDays, type LocalDay, localDayOf } from '@gateway/time';
import { UsageError } from '../../failures.ts';

/** The flags that say of which days. */
export interface PeriodFlags {
  readonly from?: LocalDay;
  readonly to?: LocalDay;
  /** So many days, today included. */
  readonly since?: number;
}

export interface Period {
  readonly firstDay: LocalDay;
  readonly lastDay: LocalDay;
}

/** Without any flag: yesterday. @throws UsageError */
export function periodOf({ from, to, since }: PeriodFlags, nowMs = Date.now()): Period {
  const today = localDayOf(nowMs);
  if (since !== undefined) {
    if (from !== undefined || to !== undefined) throw new UsageError('give either --since, or --from and --to.');
    return { firstDay: addLocalDays(today, 1 - since), lastDay: today };
  }
  if (from === undefined && to === undefined) {
    const yesterday = addLocalDays(today, -1);
    return { firstDay: yesterday, lastDay: yesterday };
  }
  const lastDay = to ?? today;
  const firstDay = from ?? lastDay;
  if (lastDay < firstDay) throw new UsageError('--to is before --from.');
  return { firstDay, lastDay };
}

export function daysOf({ firstDay, lastDay }: Period): readonly LocalDay[] {
  const days: LocalDay[] = [];
  for (let day = firstDay; day <= lastDay; day = addLocalDays(day, 1)) days.push(day);
  return days;
}
