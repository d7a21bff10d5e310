/** Bytes on their way to the client: some held back, some ready to be taken. Their order never changes. */
export class RelayBuffer {
  #held: Buffer[] = [];
  #ready: Buffer[] = [];

  /** What was held back since the last release. */
  get held(): readonly Buffer[] {
    return this.#held;
  }

  hold(bytes: Buffer): void {
    this.#held.push(bytes);
  }

  /** These bytes are for the client, and all that was held back before them. */
  release(...bytes: readonly Buffer[]): void {
    this.#ready.push(...this.#held, ...bytes);
    this.#held = [];
  }

  take(): Buffer {
    const [first = nothing, ...more] = this.#ready;
    const bytes = more.length === 0 ? first : Buffer.concat(this.#ready);
    this.#ready = [];
    return bytes;
  }
}

const nothing = Buffer.alloc(0);
