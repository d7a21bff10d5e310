import { AsyncLocalStorage } from 'node:async_hooks';
import { EventQueue, type QueuedEvent } from './event-queue.ts';
import { Seeded } from './seeded.ts';

/** Captured before the platform is replaced: the world itself runs on the real event loop. */
const { setImmediate: nextRealTurn } = globalThis;

interface WorldEvent extends QueuedEvent {
  readonly owner: WorldProcess | undefined;
  readonly act: () => void;
}

/** A planned event, which can be cancelled until it happens. */
export interface Planned {
  cancel(): void;
}

/** When simulated time may start. Days end, and have 23 or 25 hours. */
const starts = {
  noon: Date.UTC(2026, 10, 30, 11),
  midnight: Date.UTC(2026, 10, 30, 22, 58),
  shortDay: Date.UTC(2027, 2, 28, 0, 58),
  longDay: Date.UTC(2027, 9, 31, 0, 58),
};

/**
 * Simulated time. Events happen one after the other, and time jumps from one to the next. After
 * each event, all that it caused in promises and ticks runs dry before the next one: so the order
 * of everything follows from the seed alone.
 *
 * An event belongs to the process in whose context it was planned. Events of a killed process never
 * happen, and those of a paused one wait until it continues.
 */
export class World {
  readonly seeded: Seeded;
  readonly startMs: number;
  /** Milliseconds since the start. */
  elapsedMs = 0;
  /** By which a step of `atTime` runs. */
  instantMs: number | undefined;
  /** How many events have happened. */
  events = 0;
  /** What no one caught. */
  readonly uncaught: { readonly atMs: number; readonly who: string; readonly thrown: unknown }[] = [];
  readonly #queue = new EventQueue<WorldEvent>();
  #lastNumber = 0;

  constructor(seed: string | number) {
    this.seeded = new Seeded(seed);
    this.startMs = this.seeded.of('calendar').pick(Object.values(starts));
  }

  /** The true time. Clocks of processes may differ from it. */
  get nowMs(): number {
    return this.startMs + this.elapsedMs;
  }

  /** Runs this step at an instant, whatever the clock of its process shows. */
  atTime<T>(instantMs: number, act: () => T): T {
    const before = this.instantMs;
    this.instantMs = instantMs;
    try {
      return act();
    } finally {
      this.instantMs = before;
    }
  }

  /** Plans an event of a process, by default of the current one and in its context. */
  plan(afterMs: number, act: () => void, { owner, inContext } = here()): Planned {
    let isCancelled = false;
    this.#add(this.elapsedMs + afterMs, owner, () => {
      if (!isCancelled) inContext(act);
    });
    return {
      cancel: () => {
        isCancelled = true;
      },
    };
  }

  /** Runs until this time, or until nothing is left to happen. */
  async runUntil(elapsedMs: number): Promise<void> {
    for (let next = this.#queue.next; next !== undefined && next.atMs <= elapsedMs; next = this.#queue.next) {
      this.#queue.take();
      const { owner, act, atMs } = next;
      if (owner?.state === 'killed') continue;
      if (owner?.state === 'paused') {
        owner.waiting.push(act);
        continue;
      }
      this.elapsedMs = atMs;
      this.events += 1;
      act();
      await owner?.dieWithin();
      await turn();
    }
    this.elapsedMs = Math.max(this.elapsedMs, elapsedMs);
  }

  /** Runs until a promise is settled, and returns its value. */
  async runFor<T>(work: Promise<T>, mostMs: number): Promise<T> {
    const endMs = this.elapsedMs + mostMs;
    let isOver = false;
    const settled = work.finally(() => {
      isOver = true;
    });
    settled.catch(() => undefined);
    for (await turn(); !isOver && this.elapsedMs < endMs; await turn()) {
      await this.runUntil(Math.min(endMs, this.elapsedMs + 10));
    }
    if (!isOver) throw new Error(`Something did not end within ${mostMs} ms of simulated time.`);
    return settled;
  }

  /** What a killed process still throws has no one to see it. */
  fault(who: string, thrown: unknown): void {
    if (currentProcess()?.state === 'killed') return;
    this.uncaught.push({ atMs: this.elapsedMs, who, thrown });
  }

  /** Everything that waited while the process was paused happens now, in its order. */
  resume(process: WorldProcess): void {
    process.state = 'running';
    for (const act of process.waiting.splice(0)) this.#add(this.elapsedMs, process, act);
  }

  #add(atMs: number, owner: WorldProcess | undefined, act: () => void): void {
    this.#queue.add({ atMs, number: ++this.#lastNumber, owner, act });
  }
}

/** Everything in promises and ticks runs dry. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    nextRealTurn(resolve);
  });
}

/** One process of the simulated world, from its start to its end. */
export class WorldProcess {
  readonly name: string;
  /** By how much its clock is wrong. */
  clockOffsetMs = 0;
  state: 'running' | 'paused' | 'killed' = 'running';
  /** What is to happen when it continues. */
  readonly waiting: (() => void)[] = [];
  /** Called when it is killed: closes what a kernel would close. */
  readonly onKilled: (() => void)[] = [];

  #death: { readonly afterAwaits: number; readonly kill: () => void } | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /**
   * Plans its end in the middle of its next event: between two steps of its promises. What it still
   * does then has no effect on the world.
   */
  dieSoon(afterAwaits: number, kill: () => void): void {
    this.#death = { afterAwaits, kill };
  }

  /** Lives on, if it has not died yet. */
  survive(): void {
    this.#death = undefined;
  }

  async dieWithin(): Promise<void> {
    const death = this.#death;
    if (death === undefined) return;
    this.#death = undefined;
    for (let step = 0; step < death.afterAwaits; step++) await undefined;
    death.kill();
  }

  /** Runs code as this process: what it plans, opens and awaits belongs to it. */
  run<T>(code: () => T): T {
    return processes.run(this, code);
  }

  /** Ends at once, in the middle of whatever it does. */
  kill(): void {
    if (this.state === 'killed') return;
    this.state = 'killed';
    this.waiting.length = 0;
    for (const close of this.onKilled.splice(0)) close();
  }

  pause(): void {
    if (this.state === 'running') this.state = 'paused';
  }
}

/** A process, and the asynchronous context in which something of it was started. */
export interface Place {
  readonly owner: WorldProcess | undefined;
  readonly inContext: (act: () => void) => void;
}

/** The place of the code that runs. */
export function here(): Place {
  return { owner: currentProcess(), inContext: AsyncLocalStorage.snapshot() };
}

const processes = new AsyncLocalStorage<WorldProcess>();

/** The process whose code runs. Undefined outside of all processes. */
export function currentProcess(): WorldProcess | undefined {
  return processes.getStore();
}

/** Runs code that belongs to no process, such as what supervises them. */
export function outside<T>(code: () => T): T {
  return processes.run(undefined as never, code);
}
