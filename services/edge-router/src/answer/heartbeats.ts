/** What comments are written to. */
export interface KeptAlive {
  write(comment: string): unknown;
}

/** One stream that is kept alive. */
export interface Heartbeat extends Disposable {
  /** Something was sent. */
  sent(): void;
}

/** The streams are looked at so often, or ten times within their silence if that is more often. */
const lookMs = 1_000;

/**
 * Sends an SSE comment on every stream that has been silent for a while. All streams share one timer, which runs while there are
 * any: noting that something was sent, which each event does, costs next to nothing.
 */
export class Heartbeats implements Disposable {
  readonly #silentTicks: number;
  readonly #tickMs: number;
  readonly #ticks: Ticks = { count: 0 };
  readonly #streams = new Set<Stream>();
  #timer: NodeJS.Timeout | undefined;

  /** @param silentMs how long a stream is silent at least when the comment is sent; at most one look longer. */
  constructor(silentMs: number) {
    this.#tickMs = Math.min(lookMs, Math.ceil(silentMs / 10));
    // The tick in which something was sent has passed in part.
    this.#silentTicks = Math.ceil(silentMs / this.#tickMs) + 1;
  }

  /** Begins to keep a stream alive. Dispose of the heartbeat when the stream ends. */
  of(target: KeptAlive): Heartbeat {
    const stream = new Stream(target, this.#ticks, this);
    this.#streams.add(stream);
    this.#timer ??= setInterval(() => this.#look(), this.#tickMs).unref();
    return stream;
  }

  end(stream: Stream): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    this.#streams.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    this.#ticks.count += 1;
    for (const stream of this.#streams) {
      if (stream.silentTicks < this.#silentTicks) continue;
      stream.target.write(': keep-alive\n\n');
      stream.sent();
    }
  }
}

interface Ticks {
  count: number;
}

class Stream implements Heartbeat {
  readonly target: KeptAlive;
  readonly #ticks: Ticks;
  readonly #owner: Heartbeats;
  #sentAt: number;

  constructor(target: KeptAlive, ticks: Ticks, owner: Heartbeats) {
    this.target = target;
    this.#ticks = ticks;
    this.#owner = owner;
    this.#sentAt = ticks.count;
  }

  get silentTicks(): number {
    return this.#ticks.count - this.#sentAt;
  }

  sent(): void {
    this.#sentAt = this.#ticks.count;
  }

  [Symbol.dispose](): void {
    this.#owner.end(this);
  }
}
