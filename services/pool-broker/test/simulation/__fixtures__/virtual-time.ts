import { ManualTime } from '@gateway/time/simulated';

type Work = () => Promise<void>;

interface Appointment {
  readonly atMs: number;
  readonly order: number;
  readonly work: Work;
}

/** Runs work at scheduled times, and jumps from one appointment to the next. */
export class VirtualTime extends ManualTime {
  /** A binary heap with the next appointment first. */
  readonly #heap: Appointment[] = [];
  #made = 0;

  at(atMs: number, work: Work): void {
    this.#heap.push({ atMs: Math.max(atMs, this.nowMs), order: this.#made++, work });
    this.#rise(this.#heap.length - 1);
  }

  after(durationMs: number, work: Work): void {
    this.at(this.nowMs + Math.ceil(durationMs), work);
  }

  /** Runs until no appointment is left. */
  async run(): Promise<void> {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      this.setMs(next.atMs);
      await next.work();
    }
  }

  #take(): Appointment | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) {
      this.#heap[0] = last;
      this.#sink(0);
    }
    return first;
  }

  #rise(index: number): void {
    const parent = (index - 1) >> 1;
    if (index === 0 || !this.#comesFirst(index, parent)) return;
    this.#swap(index, parent);
    this.#rise(parent);
  }

  #sink(index: number): void {
    const first = [2 * index + 1, 2 * index + 2].reduce(
      (best, child) => (child < this.#heap.length && this.#comesFirst(child, best) ? child : best),
      index,
    );
    if (first === index) return;
    this.#swap(index, first);
    this.#sink(first);
  }

  #comesFirst(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}
