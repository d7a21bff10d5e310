/** What is to happen at most once, at its time. */
export interface Deadline {
  /** It is not wanted any more. */
  cancel(): void;
}

/**
 * Calls `onPassed` when so much time has passed: never before, and at most some hundredths of a second after. All
 * deadlines share one timer, since nearly none of them ever passes and a timer for each costs more than the rest. It is
 * set for the first one and left alone when that is cancelled, so that a process whose calls are all answered in time
 * seldom wakes for them.
 */
export function startDeadline(timeoutMs: number, onPassed: () => void, nowMs = performance.now()): Deadline {
  const tick = Math.ceil((nowMs + timeoutMs) / tickMs);
  const deadline = new SharedDeadline(tick, onPassed);
  // Only deadlines hold the process up, not the timer that one of them has left behind.
  if (byTick.size === 0) timer?.ref();
  deadlinesAt(tick).add(deadline);
  if (tick < timerTick) wakeAt(tick, nowMs);
  return deadline;
}

/** In ticks, so that those of about the same time are looked after together. */
const tickMs = 10;

const byTick = new Map<number, Set<SharedDeadline>>();

let timer: NodeJS.Timeout | undefined;
/** When the timer goes off, no later than the first deadline; never without one. */
let timerTick = Number.POSITIVE_INFINITY;

class SharedDeadline implements Deadline {
  readonly tick: number;
  readonly onPassed: () => void;

  constructor(tick: number, onPassed: () => void) {
    this.tick = tick;
    this.onPassed = onPassed;
  }

  cancel(): void {
    const deadlines = byTick.get(this.tick);
    if (!deadlines?.delete(this) || deadlines.size > 0) return;
    byTick.delete(this.tick);
    if (byTick.size === 0) timer?.unref();
  }
}

function deadlinesAt(tick: number): Set<SharedDeadline> {
  const known = byTick.get(tick);
  if (known !== undefined) return known;
  const deadlines = new Set<SharedDeadline>();
  byTick.set(tick, deadlines);
  return deadlines;
}

function wakeAt(tick: number, nowMs: number): void {
  clearTimeout(timer);
  timer = setTimeout(onTimer, tick * tickMs - nowMs);
  timerTick = tick;
}

function onTimer(): void {
  timer = undefined;
  timerTick = Number.POSITIVE_INFINITY;
  const nowMs = performance.now();
  const due = [...byTick.keys()].filter((tick) => tick * tickMs <= nowMs).sort((one, other) => one - other);
  for (const tick of due) passAllAt(tick);
  // What passed may have started others, and set the timer for the first of these.
  const next = firstTick();
  if (next < timerTick) wakeAt(next, nowMs);
}

function firstTick(): number {
  let first = Number.POSITIVE_INFINITY;
  for (const tick of byTick.keys()) first = Math.min(first, tick);
  return first;
}

function passAllAt(tick: number): void {
  const deadlines = byTick.get(tick);
  byTick.delete(tick);
  for (const { onPassed } of deadlines ?? []) onPassed();
}
