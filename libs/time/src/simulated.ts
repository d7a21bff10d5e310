import { AsyncLocalStorage } from 'node:async_hooks';
import { replaceSource } from './source.ts';
import { systemSource } from './system-source.ts';
import type { FullTimeSource, TimeSource } from './time-source.ts';

export type { Immediate, Timer, TimeSource } from './time-source.ts';

/**
 * Replaces the time and chance of the whole process until disposal, for simulated worlds and tests.
 * Timers that were started before remain those of their source.
 */
export function useTimeSource(source: TimeSource): Disposable {
  return replaceSource(completed(source));
}

/**
 * The time of day, which moves only when a test moves it, until disposal. Timers, durations and
 * chance remain the system's.
 */
export class ManualTime implements Disposable {
  readonly #replaced: Disposable;
  readonly #aheadMs = new AsyncLocalStorage<number>();
  #nowMs: number;

  constructor(startMs: number) {
    this.#nowMs = startMs;
    this.#replaced = replaceSource({ ...systemSource, epochMs: () => this.nowMs });
  }

  get nowMs(): number {
    return this.#nowMs + (this.#aheadMs.getStore() ?? 0);
  }

  advanceMs(durationMs: number): void {
    this.#nowMs += durationMs;
  }

  setMs(nowMs: number): void {
    this.#nowMs = nowMs;
  }

  /** Runs this, and what it starts, on a machine whose clock is ahead (or behind, if negative). */
  ahead<T>(aheadMs: number, run: () => T): T {
    return this.#aheadMs.run(aheadMs, run);
  }

  [Symbol.dispose](): void {
    this.#replaced[Symbol.dispose]();
  }
}

/** What the system has of its own is made from the source here, so that a seed decides it too. */
function completed(source: TimeSource): FullTimeSource {
  return {
    epochMs: () => source.epochMs(),
    monotonicMs: () => source.monotonicMs(),
    startTimer: (run, delayMs) => source.startTimer(run, delayMs),
    startInterval: (run, intervalMs) => source.startInterval(run, intervalMs),
    startProcessInterval: (run, intervalMs) => source.startInterval(() => source.startImmediate(run), intervalMs),
    cancelTimer: (timer) => timer?.[Symbol.dispose](),
    startImmediate: (run) => source.startImmediate(run),
    cancelImmediate: (immediate) => immediate?.[Symbol.dispose](),
    timeoutSignal: (delayMs) => timeoutSignalOf(source, delayMs),
    random: () => source.random(),
    randomInteger: (limit) => Math.floor(source.random() * limit),
    randomBytes: (size) => source.randomBytes(size),
    randomId: () => uuidOf(4, source.randomBytes(16)),
    timeOrderedId: () => {
      const bytes = source.randomBytes(16);
      bytes.writeUIntBE(source.epochMs(), 0, 6);
      return uuidOf(7, bytes);
    },
  };
}

function timeoutSignalOf(source: TimeSource, delayMs: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  source.startTimer(() => controller.abort(reason), delayMs).unref();
  return controller.signal;
}

/** RFC 9562: four bits hold the version, two the variant. */
function uuidOf(version: 4 | 7, bytes: Buffer): string {
  bytes.writeUInt8((version << 4) | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
