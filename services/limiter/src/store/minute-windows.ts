import { MinuteWindow, WINDOW_MS } from '../windows/minute-window.ts';
import { BoundedMap } from './bounded-map.ts';
import type { RecordedAdmission } from './limit-store.ts';

/** The windows of many keys, and how many admissions they hold together. */
export class MinuteWindows {
  readonly #windows: BoundedMap<MinuteWindow>;
  #admissions = 0;

  /** Beyond `maxKeys` the least recently used windows begin anew. */
  constructor(maxKeys: number) {
    this.#windows = new BoundedMap({
      maxEntries: maxKeys,
      isIdle: (window, nowMs) => window.isIdle(nowMs),
      onForgotten: (window) => {
        this.#admissions -= window.size;
      },
    });
  }

  get size(): number {
    return this.#windows.size;
  }

  get admissions(): number {
    return this.#admissions;
  }

  forgetIdle(clockMs: number): void {
    this.#windows.forgetIdle(clockMs);
  }

  /** A key's window without what is 60 seconds old, and the window's time; undefined when it has none. */
  look(key: string, clockMs: number): SeenWindow | undefined {
    const window = this.#windows.get(key);
    if (window === undefined) return undefined;
    const nowMs = window.now(clockMs);
    this.#admissions -= window.dropExpired(nowMs);
    return { window, nowMs };
  }

  /** The window of a key that has none. */
  begin(key: string): MinuteWindow {
    const window = new MinuteWindow();
    this.#windows.set(key, window);
    return window;
  }

  take(window: MinuteWindow, requestId: string, nowMs: number): void {
    window.take(requestId, nowMs);
    this.#admissions += 1;
  }

  /** Takes note of a request that was admitted elsewhere. */
  record(key: string, { requestId, ageMs }: RecordedAdmission, clockMs: number): void {
    const window = this.look(key, clockMs)?.window;
    if (ageMs >= WINDOW_MS) return;
    const recorded = window ?? this.begin(key);
    if (recorded.insert(requestId, clockMs - ageMs)) this.#admissions += 1;
    this.#admissions -= recorded.dropExpired(recorded.now(clockMs));
  }

  /** What was admitted at `fromMs` or after it and is not 60 seconds old, by key. */
  *admittedSince(fromMs: number, clockMs: number): Generator<readonly [string, readonly RecordedAdmission[]]> {
    for (const [key, window] of this.#windows) {
      const admissions = window.entriesSince(fromMs).map(([requestId, enteredMs]) => ({
        requestId,
        ageMs: Math.max(0, clockMs - enteredMs),
      }));
      if (admissions.length > 0) yield [key, admissions];
    }
  }
}

export interface SeenWindow {
  readonly window: MinuteWindow;
  /** The clock's time, but never before the newest entry. */
  readonly nowMs: number;
}
