/** What is to happen at most once, at its time. */
export interface Deadline {
  /** It is not wanted any more. */
  cancel(): void;
}

/**
 * Calls `onPassed` when so much time has passed: never before, and at most some hundredths of a second after. All
 * deadlines share one timer, since nearly none of them ever passes and a timer for each costs more than the rest.
 */
export function startDeadline(timeoutMs: number, onPassed: () => void, nowMs = performance.now()): Deadline {
  if (timer === undefined) beginTicking();
  // A tick that is over comes no more.
  const tick = Math.max(lastTick + 1, tickAfter(nowMs + timeoutMs));
  const deadline = new SharedDeadline(tick, onPassed);
  deadlinesAt(tick).add(deadline);
  return deadline;
}

class SharedDeadline implements Deadline {
  readonly tick: number;
  readonly onPassed: () => void;

  constructor(tick: number, onPassed: () => void) {
    this.tick = tick;
    this.onPassed = onPassed;
  }

  cancel(): void {
    const deadlines = byTick.get(this.tick);
    if (deadlines?.delete(this) && deadlines.size === 0) byTick.delete(this.tick);
  }
}

const tickMs = 10;

const byTick = new Map<number, Set<SharedDeadline>>();

let lastTick = 0;
let timer: NodeJS.Timeout | undefined;

function deadlinesAt(tick: number): Set<SharedDeadline> {
  const known = byTick.get(tick);
  if (known !== undefined) return known;
  const deadlines = new Set<SharedDeadline>();
  byTick.set(tick, deadlines);
  return deadlines;
}

/** The first tick at which this moment has passed. */
function tickAfter(momentMs: number): number {
  return Math.ceil(momentMs / tickMs);
}

function beginTicking(): void {
  lastTick = tickAfter(performance.now()) - 1;
  timer = setTimeout(onTick, tickMs);
}

function onTick(): void {
  const current = Math.floor(performance.now() / tickMs);
  while (lastTick < current) passAllAt(++lastTick);
  // The last deadline stops the timer at most one tick later, so that it holds no process up.
  timer = byTick.size === 0 ? undefined : setTimeout(onTick, tickMs);
}

function passAllAt(tick: number): void {
  const deadlines = byTick.get(tick);
  byTick.delete(tick);
  for (const { onPassed } of deadlines ?? []) onPassed();
}
