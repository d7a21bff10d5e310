import { GatewayError } from '@gateway/errors';

export interface BodyBudgetOptions {
  /** Most bytes of request bodies that this process holds at a time. */
  readonly limitBytes: number;
  /** How long a request waits for others to end before it is refused. */
  readonly waitMs: number;
}

interface Waiter {
  readonly bytes: number;
  readonly grant: () => void;
}

/** Whose request waits for room. */
export interface WaitingClient {
  /** Aborted when the client leaves. Read only when there is no room at once. */
  readonly signal: AbortSignal;
}

/** Shares out the memory that request bodies may take. Requests that do not fit wait their turn, in order, for a while. */
export class BodyBudget {
  readonly #options: BodyBudgetOptions;
  readonly #waiters = new Set<Waiter>();
  #heldBytes = 0;

  constructor(options: BodyBudgetOptions) {
    this.#options = options;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The share of one request, empty at first. Dispose of it when the request ends. The client's leaving ends its waiting. */
  hold(client: WaitingClient): BodyHold {
    return new BodyHold(this, client);
  }

  /** Takes `bytes` at once; false when others wait or there is too little left. */
  tryTake(bytes: number, { ahead = false } = {}): boolean {
    if (this.#heldBytes + bytes > this.#options.limitBytes || (this.#waiters.size > 0 && !ahead)) return false;
    this.#heldBytes += bytes;
    return true;
  }

  /** Takes `bytes` as soon as there is room for them. Throws `providers_unavailable` when that takes too long. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.tryTake(bytes)) return;
    if (bytes > this.#options.limitBytes || signal.aborted) throw noRoom();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const giveUp = () => reject(noRoom());
    const waiter: Waiter = { bytes, grant: resolve };
    const timer = setTimeout(giveUp, this.#options.waitMs);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#waiters.add(waiter);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      // One that gave up stood in the way of those behind it.
      if (this.#waiters.delete(waiter)) this.#admitWaiters();
    }
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes;
    this.#admitWaiters();
  }

  #admitWaiters(): void {
    for (const waiter of this.#waiters) {
      if (!this.tryTake(waiter.bytes, { ahead: true })) return;
      this.#waiters.delete(waiter);
      waiter.grant();
    }
  }
}

/** What one request holds. */
export class BodyHold implements Disposable {
  readonly #budget: BodyBudget;
  readonly #client: WaitingClient;
  #bytes = 0;
  #waitedMs = 0;

  constructor(budget: BodyBudget, client: WaitingClient) {
    this.#budget = budget;
    this.#client = client;
  }

  /**
   * Makes room for a body before it is read: at once, or when the promise resolves. It rejects with `providers_unavailable`
   * when there is none for too long.
   */
  reserve(bytes: number): Promise<void> | undefined {
    if (!this.#budget.tryTake(bytes)) return this.#waitFor(bytes);
    this.#bytes += bytes;
    return undefined;
  }

  async #waitFor(bytes: number): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#budget.take(bytes, this.#client.signal);
      this.#bytes += bytes;
    } finally {
      this.#waitedMs += performance.now() - startedAt;
    }
  }

  /** How long the request has waited for room. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /**
   * Makes room for a body that turns out to have `bytes`. Throws `providers_unavailable` at once when there is none: one
   * that waited with half a body in its hands would keep others waiting for it.
   */
  growTo(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more <= 0) return;
    if (!this.#budget.tryTake(more, { ahead: true })) throw noRoom();
    this.#bytes += more;
  }

  [Symbol.dispose](): void {
    this.#budget.giveBack(this.#bytes);
    this.#bytes = 0;
  }
}

function noRoom(): GatewayError {
  return new GatewayError('providers_unavailable', 'The gateway holds as many requests as it can. Try again later.');
}
