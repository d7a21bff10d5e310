/** Where code learns the time, so that tests can set it. */
export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };

/** A clock that moves only when a test moves it. For tests. */
export class ManualClock implements Clock {
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  advanceMs(durationMs: number): void {
    this.#nowMs += durationMs;
  }

  setMs(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}
