import { readdirSync, readFileSync } from 'node:fs';

/** A process whose cost is counted. */
export interface WatchedProcess {
  readonly name: string;
  readonly pid: number;
  /** `gateway` is ours; `backend` is what it needs: Redis, NATS, Postgres. */
  readonly part: 'gateway' | 'backend';
}

/** Microseconds of user and system time of every thread, by process name and thread. */
export type ProcessorTimes = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * The time that the operating system has accounted to processes and their children so far. Reads
 * the scheduler's nanoseconds: `/proc/<pid>/stat` counts in hundredths of a second, too coarse for
 * short rounds.
 */
export function readProcessorTimes(watched: readonly WatchedProcess[]): ProcessorTimes {
  return new Map(watched.map(({ name, pid }) => [name, threadTimes(pid)]));
}

/**
 * Microseconds per process between two readings. Threads that ended in between count up to the
 * first reading.
 */
export function microsecondsBetween(before: ProcessorTimes, after: ProcessorTimes): Readonly<Record<string, number>> {
  return Object.fromEntries(
    [...after].map(([name, threads]) => {
      const earlier = before.get(name);
      const sum = [...threads].reduce((total, [thread, micros]) => total + micros - (earlier?.get(thread) ?? 0), 0);
      return [name, sum];
    }),
  );
}

/**
 * Kilobytes of memory in use, by process name, including children. Shared pages count by the share
 * of the process.
 */
export function readMemoryKilobytes(watched: readonly WatchedProcess[]): Readonly<Record<string, number>> {
  return Object.fromEntries(
    watched.map(({ name, pid }) => [
      name,
      familyOf(pid).reduce((sum, member) => sum + proportionalKilobytes(member), 0),
    ]),
  );
}

function threadTimes(pid: number): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const member of familyOf(pid)) {
    for (const thread of threadsOf(member)) {
      const text = readIfThere(`/proc/${member}/task/${thread}/schedstat`);
      if (text !== '') times.set(thread, Number(text.slice(0, text.indexOf(' '))) / 1_000);
    }
  }
  return times;
}

export function familyOf(pid: number): readonly number[] {
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(familyOf)];
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function proportionalKilobytes(pid: number): number {
  return Number(/^Pss: +(\d+)/m.exec(readIfThere(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
}

/** Empty if the process has ended since. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
