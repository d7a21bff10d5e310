/**
 * Where time and chance come from. A simulated world replaces the system's source with its own,
 * which runs on simulated time from a seed.
 */
export interface TimeSource {
  /** Milliseconds since 1970. It jumps when the machine's clock is set. */
  epochMs(): number;
  /** Milliseconds since some instant. It never goes back. */
  monotonicMs(): number;
  startTimer(run: () => void, delayMs: number): Timer;
  startInterval(run: () => void, intervalMs: number): Timer;
  /** Runs after the input and output that are ready: Node's `setImmediate`. */
  startImmediate(run: () => void): Immediate;
  /** From 0 to below 1. Never for secrets. */
  random(): number;
  /** Good for secrets. */
  randomBytes(size: number): Buffer<ArrayBuffer>;
}

/** What is made from a source, and what a system has better ways for. */
export interface FullTimeSource extends TimeSource {
  cancelTimer(timer: Timer | undefined): void;
  cancelImmediate(immediate: Immediate | undefined): void;
  startProcessInterval(run: () => void, intervalMs: number): Timer;
  timeoutSignal(delayMs: number): AbortSignal;
  randomId(): string;
  timeOrderedId(): string;
  randomInteger(limit: number): number;
}

/** A timer or an interval. Disposal cancels it. */
export interface Timer extends Disposable {
  /** Lets the process end before it fires. */
  unref(): this;
  /** Starts its time again. */
  refresh(): this;
}

/** Disposal cancels it. */
export interface Immediate extends Disposable {
  /** Lets the process end before it runs. */
  unref(): this;
}
