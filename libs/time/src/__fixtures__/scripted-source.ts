import type { Immediate, Timer, TimeSource } from '../simulated.ts';

/** A source whose time passes only when a test lets it, with the same random values each time. */
export class ScriptedSource implements TimeSource {
  #nowMs = 0;
  #state = 1;
  readonly #timers = new Set<ScriptedTimer>();

  epochMs(): number {
    return 1_000_000 + this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  startTimer(run: () => void, delayMs: number): Timer {
    return this.#start(run, delayMs, false);
  }

  startInterval(run: () => void, intervalMs: number): Timer {
    return this.#start(run, intervalMs, true);
  }

  startImmediate(run: () => void): Immediate {
    return this.#start(run, 0, false);
  }

  random(): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return this.#state / 2_147_483_647;
  }

  randomBytes(size: number): Buffer<ArrayBuffer> {
    return Buffer.from(Array.from({ length: size }, () => Math.floor(this.random() * 256)));
  }

  /** Lets this much time pass, and everything happen that is due in it. */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#nowMs + durationMs;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [next] = [...this.#timers].toSorted((one, other) => one.dueMs - other.dueMs);
      if (next === undefined || next.dueMs > endMs) break;
      this.#nowMs = Math.max(this.#nowMs, next.dueMs);
      next.fire();
    }
    this.#nowMs = endMs;
  }

  #start(run: () => void, delayMs: number, isRepeated: boolean): ScriptedTimer {
    const timer: ScriptedTimer = {
      dueMs: this.#nowMs + delayMs,
      fire: () => {
        if (isRepeated) timer.dueMs += delayMs;
        else this.#timers.delete(timer);
        run();
      },
      unref: () => timer,
      refresh: () => {
        timer.dueMs = this.#nowMs + delayMs;
        return timer;
      },
      [Symbol.dispose]: () => void this.#timers.delete(timer),
    };
    this.#timers.add(timer);
    return timer;
  }
}

interface ScriptedTimer {
  dueMs: number;
  fire(): void;
  unref(): ScriptedTimer;
  refresh(): ScriptedTimer;
  [Symbol.dispose](): void;
}
