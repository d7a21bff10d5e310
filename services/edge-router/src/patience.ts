import { UnaryCall } from '@gateway/rpc';
import { monotonicMs } from '@gateway/time';

/**
 * How long a request still waits for decisions of other services. Uploads and providers have
 * deadlines of their own, so their time does not count.
 */
export class Patience {
  #leftMs: number;

  constructor(totalMs: number) {
    this.#leftMs = totalMs;
  }

  /**
   * The decision, if it comes in time. A later one is not cancelled, because other requests may use
   * it, and its caller must undo what it took.
   * @throws RpcError `deadline_exceeded`
   */
  within<T>(decide: () => Promise<T>): Promise<T> {
    return this.#leftMs === Number.POSITIVE_INFINITY ? decide() : this.#withinLeft(decide);
  }

  async #withinLeft<T>(decide: () => Promise<T>): Promise<T> {
    const startedMs = monotonicMs();
    try {
      return await new UnaryCall<T>({ timeoutMs: this.#leftMs }).run(decide);
    } finally {
      this.#leftMs = Math.max(0, this.#leftMs - (monotonicMs() - startedMs));
    }
  }
}

/**
 * The deadline of a call to another machine, beyond the patience of any request: an answer that
 * comes later than its request could wait is still used. Whether the other side lives is found by
 * the connection's own probes.
 */
export const lateCall = { timeoutMs: 60_000 } as const;
