/** Events on their way to the client: some held back, some ready to be taken. Their order never changes. */
export class RelayBuffer {
  #held: Buffer[] = [];
  #ready: Buffer[] = [];

  /** What was held back since the last release. */
  get held(): readonly Buffer[] {
    return this.#held;
  }

  hold(event: Buffer): void {
    this.#held.push(event);
  }

  /** This event is for the client, and all that was held back before it. */
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
