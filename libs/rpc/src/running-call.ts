import { monotonicMs } from '@gateway/time';
import { deadlines, type Expiring } from './deadlines.ts';
import { callCancelled, deadlineExceeded, type RpcError } from './errors.ts';
import type { CallContext, Caller, ServedCallOptions } from './service-types.ts';

/** What calls of every kind offer to their handlers and to the code that ends them. */
export abstract class RunningCall implements CallContext, Expiring {
  readonly #options: ServedCallOptions;
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;
  deadlineMs = Number.POSITIVE_INFINITY;

  constructor(options: ServedCallOptions = {}) {
    this.#options = options;
  }

  /** Created on demand: few handlers use it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  get caller(): Caller | undefined {
    return this.#options.caller;
  }

  /** Cancels the call on behalf of its caller. */
  readonly cancel = (): void => this.#fail(callCancelled());

  expire(): void {
    this.#fail(deadlineExceeded(this.#options.timeoutMs));
  }

  /** Why the call is over: `callEnded`, or its failure. */
  protected get reason(): RpcError | undefined {
    return this.#reason;
  }

  /** May run only once. @throws when the call has already been cancelled. */
  protected begin(): void {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) this.cancel();
    if (this.#reason !== undefined) throw this.#reason;
    signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs === undefined) return;
    this.deadlineMs = monotonicMs() + timeoutMs;
    deadlines.add(this);
  }

  /** The first reason counts. False when the call was already over. */
  protected end(reason: RpcError): boolean {
    if (this.#reason !== undefined) return false;
    this.#reason = reason;
    deadlines.delete(this);
    this.#options.signal?.removeEventListener('abort', this.cancel);
    this.#controller?.abort(reason);
    return true;
  }

  /** Called when the call has ended by cancellation or by its deadline. */
  protected abstract onFailed(reason: RpcError): void;

  #fail(reason: RpcError): void {
    if (this.end(reason)) this.onFailed(reason);
  }
}
