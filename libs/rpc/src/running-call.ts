import { deadlines, type Expiring } from './deadlines.ts';
import { callCancelled, deadlineExceeded, type RpcError } from './errors.ts';
import type { CallContext, Caller, ServedCallOptions } from './service-types.ts';

/** What calls of every kind are to their handlers, and to those who end them. */
export abstract class RunningCall implements CallContext, Expiring {
  readonly #options: ServedCallOptions;
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;
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

  /** The caller gives the call up. */
  readonly cancel = (): void => this.#fail(callCancelled());

  expire(): void {
    this.#fail(deadlineExceeded(this.#options.timeoutMs));
  }

  /** Why it is over: `callEnded`, or its failure. */
  protected get reason(): RpcError | undefined {
    return this.#reason;
  }

  /** Once only. @throws when the call has been given up before. */
  protected begin(): void {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) this.cancel();
    if (this.#reason !== undefined) throw this.#reason;
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs === undefined) return;
    this.deadlineMs = performance.now() + timeoutMs;
    deadlines.add(this);
  }

  /** The first reason is right. False: the call was over already. */
  protected end(reason: RpcError): boolean {
    if (this.#reason !== undefined) return false;
    this.#reason = reason;
    deadlines.delete(this);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#controller?.abort(reason);
    return true;
  }

  /** It was cancelled, or its deadline has passed, and it has ended with that. */
  protected abstract onFailed(reason: RpcError): void;

  #fail(reason: RpcError): void {
    if (this.end(reason)) this.onFailed(reason);
  }
}
