import type { RpcError } from '../rpc-error.ts';
import type { CallContext } from '../service-types.ts';

/** What a handler learns of its call. The signal is made when the handler first looks at it: most never do. */
export class ServerContext implements CallContext {
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

  abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
