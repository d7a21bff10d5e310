/** Something that is to end by a moment. */
export interface Watched {
  /** Called now and then with the time, `performance.now()`: ends what is overdue. */
  checkDeadline(nowMs: number): void;
}

/**
 * Watches over many deadlines with one timer, which runs while there is one: a timer of its own for every request, moved
 * on with every read, would cost more than reading. What is overdue is noticed within 50 ms.
 */
export class Deadlines implements Disposable {
  readonly #watched = new Set<Watched>();
  #timer: NodeJS.Timeout | undefined;

  watch(watched: Watched): void {
    this.#watched.add(watched);
    this.#timer ??= setInterval(this.#checkAll, checkIntervalMs).unref();
  }

  forget(watched: Watched): void {
    this.#watched.delete(watched);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  readonly #checkAll = (): void => {
    if (this.#watched.size === 0) {
      this[Symbol.dispose]();
      return;
    }
    const nowMs = performance.now();
    for (const watched of this.#watched) watched.checkDeadline(nowMs);
  };
}

const checkIntervalMs = 50;
