import { systemSource } from './system-source.ts';
import type { FullTimeSource, Immediate, Timer } from './time-source.ts';

export type { Immediate, Timer, TimeSource } from './time-source.ts';

export interface SleepOptions {
  /** Ends the sleep: it rejects with an `AbortError`. */
  readonly signal?: AbortSignal | undefined;
  /** False lets the process end during the sleep. */
  readonly ref?: boolean | undefined;
}

/** The time of day, for people and other machines. For durations: `monotonicMs`. */
export function epochMs(): number {
  return source.epochMs();
}

/** For durations and deadlines within a process. */
export function monotonicMs(): number {
  return source.monotonicMs();
}

export function startTimer(run: () => void, delayMs: number): Timer {
  return source.startTimer(run, delayMs);
}

export function startInterval(run: () => void, intervalMs: number): Timer {
  return source.startInterval(run, intervalMs);
}

/**
 * An interval that serves the whole process, and runs after the network was read. It outlives a
 * test: fake timers do not replace it.
 */
export function startProcessInterval(run: () => void, intervalMs: number): Timer {
  return source.startProcessInterval(run, intervalMs);
}

/** Cancels a timer or an interval. */
export function cancelTimer(timer: Timer | undefined): void {
  source.cancelTimer(timer);
}

/** Runs after the input and output that are ready. */
export function startImmediate(run: () => void): Immediate {
  return source.startImmediate(run);
}

export function cancelImmediate(immediate: Immediate | undefined): void {
  source.cancelImmediate(immediate);
}

/** Lets the event loop handle what is ready. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    source.startImmediate(resolve);
  });
}

/** Rejects when the signal aborts, as `setTimeout` of `node:timers/promises` does. */
export function sleep(durationMs: number, { signal, ref = true }: SleepOptions = {}): Promise<void> {
  if (signal?.aborted) return Promise.reject(new AbortError(signal));
  return new Promise((resolve, reject) => {
    const timer = source.startTimer(() => {
      signal?.removeEventListener('abort', cancel);
      resolve();
    }, durationMs);
    if (!ref) timer.unref();
    signal?.addEventListener('abort', cancel, { once: true });

    function cancel(): void {
      source.cancelTimer(timer);
      reject(new AbortError(signal));
    }
  });
}

/** Aborts with a `TimeoutError`. It lets the process end before. */
export function timeoutSignal(delayMs: number): AbortSignal {
  return source.timeoutSignal(delayMs);
}

/** From 0 to below 1, for jitter and samples. For secrets: `randomBytes`. */
export function random(): number {
  return source.random();
}

/** From 0 to below the limit, each with the same probability. Good for secrets. */
export function randomInteger(limit: number): number {
  return source.randomInteger(limit);
}

/** Good for secrets. */
export function randomBytes(size: number): Buffer<ArrayBuffer> {
  return source.randomBytes(size);
}

/** A UUID of version 4. */
export function randomId(): string {
  return source.randomId();
}

/** A UUID of version 7: ids sort by the time at which they were made. */
export function timeOrderedId(): string {
  return source.timeOrderedId();
}

/** Options of an `LRUCache` whose entries have a `ttl`: its own clock would be the system's. */
export const cacheTime = { perf: { now: monotonicMs }, ttlResolution: 0 } as const;

/**
 * Calls `run` before another source takes over. State of the whole process that holds timers or
 * instants of the source is reset then.
 */
export function beforeSourceChange(run: () => void): void {
  changeListeners.push(run);
}

/** For `@gateway/time/simulated`: replaces the source of the whole process until disposal. */
export function replaceSource(replacement: FullTimeSource): Disposable {
  const previous = source;
  changeTo(replacement);
  return { [Symbol.dispose]: () => changeTo(previous) };
}

function changeTo(next: FullTimeSource): void {
  for (const run of changeListeners) run();
  source = next;
}

let source: FullTimeSource = systemSource;
const changeListeners: (() => void)[] = [];

/** The error of Node for an aborted operation, which Node does not export. */
class AbortError extends Error {
  override readonly name = 'AbortError';
  readonly code = 'ABORT_ERR';

  constructor(signal: AbortSignal | undefined) {
    super('The operation was aborted', { cause: signal?.reason });
  }
}
