import { here, type Place, type Planned, type World } from './world.ts';

/** A timer or an interval on simulated time, with the methods of Node's. Disposal cancels it. */
export class WorldTimer implements Disposable {
  readonly #worldOf: () => World;
  readonly #run: () => void;
  readonly #delayMs: number;
  readonly #repeats: boolean;
  readonly #place: Place;
  #planned: Planned | undefined;

  constructor(worldOf: () => World, run: () => void, { delayMs, repeats = false, place = here() }: TimerOptions) {
    this.#worldOf = worldOf;
    this.#run = run;
    this.#delayMs = wholeDelayMs(delayMs);
    this.#repeats = repeats;
    this.#place = place;
    this.refresh();
  }

  refresh(): this {
    this.#planned?.cancel();
    this.#planned = this.#worldOf().plan(this.#delayMs, () => this.#fire(), this.#place);
    return this;
  }

  close(): this {
    this.#planned?.cancel();
    this.#planned = undefined;
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #fire(): void {
    this.#planned = undefined;
    if (this.#repeats) this.refresh();
    this.#run();
  }
}

/** What Node's `setImmediate` returns. */
export class WorldImmediate implements Disposable {
  readonly #planned: Planned;

  constructor(world: World, run: () => void) {
    this.#planned = world.plan(0, run);
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  [Symbol.dispose](): void {
    this.#planned.cancel();
  }
}

interface TimerOptions {
  readonly delayMs: number;
  readonly repeats?: boolean;
  /** Whose timer it is. Default: that of the code that runs. */
  readonly place?: Place;
}

/** Node's timers wait for whole milliseconds, and at least for one. */
function wholeDelayMs(delayMs: number): number {
  return delayMs >= 1 && delayMs < 2 ** 31 ? Math.trunc(delayMs) : 1;
}
