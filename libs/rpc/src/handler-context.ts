import { RpcError } from './rpc-error.ts';
import type { CallContext } from './service-types.ts';

/** What a handler learns of its call. The signal is made when the handler first looks at it: most never do. */
export class HandlerContext implements CallContext {
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** As the signal has it, without making one. */
  get isAborted(): boolean {
    return this.#reason !== undefined;
  }

  /** The call is over: its handler, if it still works, may stop. The first reason stays. */
  abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}

// Why the signal of a call is aborted. One for all calls each: making an error costs a stack trace, and every call ends.
export const callEnded = new RpcError('cancelled', 'The call has ended.');

export const callCancelled = new RpcError('cancelled', 'The caller cancelled the call.');
