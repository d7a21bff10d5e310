import { callEnded, type RpcError } from './errors.ts';
import { RunningCall } from './running-call.ts';
import type { CallContext } from './service-types.ts';

/**
 * A call with a single answer: the promise of its work. If the call is cancelled or its deadline
 * passes first, it fails at once, whatever the work does, and aborts the work's signal.
 */
export class UnaryCall<T> extends RunningCall {
  #actOnFailure: ((reason: RpcError) => void) | undefined;
  #reject: ((reason: RpcError) => void) | undefined;

  /** May run only once. */
  run(work: (context: CallContext) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.begin();
      this.#reject = reject;
      work(this).then(
        (answer) => {
          this.end(callEnded);
          resolve(answer);
        },
        (thrown) => {
          this.end(callEnded);
          reject(thrown);
        },
      );
    });
  }

  /** Calls `act` when the call fails before its work is done: at once if it has already failed. */
  whenFailed(act: (reason: RpcError) => void): void {
    if (this.reason === undefined) this.#actOnFailure = act;
    else if (this.reason !== callEnded) act(this.reason);
  }

  protected override onFailed(reason: RpcError): void {
    this.#actOnFailure?.(reason);
    this.#reject?.(reason);
  }
}
