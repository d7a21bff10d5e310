import type { QuotaWindow } from '@gateway/adapter-kit';
import type { RateLimits } from './event-types.ts';
import { eventWindows } from './read-windows.ts';

/** What the events of one answer tell of the account's quotas; of each the latest word counts. */
export class ToldWindows {
  readonly #nowMs: number;
  #windows: readonly QuotaWindow[] = [];

  /** @param nowMs epoch milliseconds from which resets that are durations count. */
  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  get all(): readonly QuotaWindow[] {
    return this.#windows;
  }

  /** When the last of the used-up windows resets that hold for the whole account; undefined when none is used up. */
  get exhaustedUntilMs(): number | undefined {
    const resets = this.#windows
      .filter(({ models, usedFraction }) => models === '' && usedFraction >= 1)
      .flatMap(({ resetsAtMs }) => resetsAtMs ?? []);
    return resets.length === 0 ? undefined : Math.max(...resets);
  }

  onRateLimits({ limits }: RateLimits): void {
    const told = eventWindows(limits, this.#nowMs);
    const isTold = (window: QuotaWindow) =>
      told.some(({ name, models }) => name === window.name && models === window.models);
    this.#windows = [...this.#windows.filter((window) => !isTold(window)), ...told];
  }
}
