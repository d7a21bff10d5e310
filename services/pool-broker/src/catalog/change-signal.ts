/** Lets any number of loops sleep until something has changed. */
export class ChangeSignal {
  #waiting = new Set<() => void>();

  /** Wakes everyone who waits now. */
  notify(): void {
    const woken = this.#waiting;
    this.#waiting = new Set();
    for (const wake of woken) wake();
  }

  /** Resolves at the next notification, or when the signal is aborted. */
  next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener('abort', wake);
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }
}
