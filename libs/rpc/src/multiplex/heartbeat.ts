export interface HeartbeatOptions {
  readonly intervalMs: number;
  /** Nothing was heard for an interval: ask whether the other side is there. */
  readonly ping: () => void;
  /** Nothing was heard after the question either. */
  readonly onSilence: () => void;
}

/** Notices a peer that is paused, hung or cut off, within three intervals of its last word. */
export class Heartbeat implements Disposable {
  readonly #options: HeartbeatOptions;
  readonly #timer: NodeJS.Timeout;
  #heard = true;
  #asked = false;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#onInterval(), options.intervalMs).unref();
  }

  /** Something came from the other side. */
  onHeard(): void {
    this.#heard = true;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #onInterval(): void {
    if (this.#heard) this.#asked = false;
    else if (this.#asked) return this.#options.onSilence();
    else {
      this.#asked = true;
      this.#options.ping();
    }
    this.#heard = false;
  }
}
