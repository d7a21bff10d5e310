/** Events on their way to the client: some held back, some ready. Their order never changes. */
export class RelayBuffer {
  #held: Buffer[] = [];
  #ready: Buffer[] = [];

  /** The events held back since the last release. */
  get held(): readonly Buffer[] {
    return this.#held;
  }

  hold(event: Buffer): void {
    this.#held.push(event);
  }

  /** Makes this event and all events held back before it ready. */
  release(event: Buffer): void {
    this.releaseHeld();
    this.#ready.push(event);
  }

  releaseHeld(): void {
    if (this.#held.length === 0) return;
    this.#ready = [...this.#ready, ...this.#held];
    this.#held = [];
  }

  take(): Buffer {
    const [first = nothing, ...more] = this.#ready;
    this.#ready = [];
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }
}

const nothing = Buffer.alloc(0);
