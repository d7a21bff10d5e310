/** Something that happens at an instant of simulated time. */
export interface QueuedEvent {
  readonly atMs: number;
  /** Orders the events of one instant. */
  readonly number: number;
}

/** A binary heap: the earliest event first and, of one instant, the one that was added first. */
export class EventQueue<E extends QueuedEvent> {
  readonly #heap: E[] = [];

  get next(): E | undefined {
    return this.#heap[0];
  }

  add(event: E): void {
    const heap = this.#heap;
    let place = heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isEarlier(above, event)) break;
      heap[place] = above;
      place = parent;
    }
    heap[place] = event;
  }

  take(): E | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first;
  }

  /** Places an event at the root and moves it down. */
  #sink(event: E): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      const left = heap[2 * place + 1];
      const right = heap[2 * place + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isEarlier(right, left);
      const child = isRight ? right : left;
      if (isEarlier(event, child)) break;
      heap[place] = child;
      place = 2 * place + (isRight ? 2 : 1);
    }
    heap[place] = event;
  }
}

function isEarlier(one: QueuedEvent, other: QueuedEvent): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.number < other.number);
}
