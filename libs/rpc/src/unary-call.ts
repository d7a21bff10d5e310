import { deadlines, type Expiring } from './deadlines.ts';
import { callCancelled, callEnded, deadlineExceeded, type RpcError } from './errors.ts';
import type { CallContext, Caller, ServedCallOptions } from './service-types.ts';

/**
 * A call with one answer: the promise of its work, unless the call is cancelled or its deadline passes before. Then it fails at
 * once, whatever the work does, and the work's signal is aborted.
 */
export class UnaryCall<T> implements CallContext, Expiring {
  readonly #options: ServedCallOptions;
  #controller: AbortController | undefined;
  /** Why it is over. */
  #reason: RpcError | undefined;
  #onFailed: ((reason: RpcError) => void) | undefined;
  #reject: ((reason: RpcError) => void) | undefined;
  deadlineMs = Number.POSITIVE_INFINITY;

  constructor(options: ServedCallOptions = {}) {
    this.#options = options;
  }

  /** Made when it is asked for: few handlers do. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get caller(): Caller | undefined {
    return this.#options.caller;
  }

  /** Once only. */
  run(work: (context: CallContext) => Promise<T>): Promise<T> {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) this.cancel();
    if (this.#reason !== undefined) return Promise.reject(this.#reason);
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs !== undefined) {
      this.deadlineMs = performance.now() + timeoutMs;
      deadlines.add(this);
    }
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#ending(work).then(resolve, reject);
    });
  }

  /** Acts when the call fails before its work is done: at once if it has failed already. */
  onFailed(act: (reason: RpcError) => void): void {
    if (this.#reason === undefined) this.#onFailed = act;
    else if (this.#reason !== callEnded) act(this.#reason);
  }

  readonly cancel = (): void => this.#fail(callCancelled());

  expire(): void {
    this.#fail(deadlineExceeded(this.#options.timeoutMs));
  }

  async #ending(work: (context: CallContext) => Promise<T>): Promise<T> {
    try {
      return await work(this);
    } finally {
      this.#end(callEnded);
    }
  }

  #fail(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#end(reason);
    this.#onFailed?.(reason);
    this.#reject?.(reason);
  }

  /** The first reason is right. */
  #end(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    deadlines.delete(this);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#controller?.abort(reason);
  }
}
