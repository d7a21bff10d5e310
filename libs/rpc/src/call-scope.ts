import { RpcError } from './errors.ts';
import type { CallContext, CallOptions } from './service-types.ts';

/** The lifetime of one call: its caller's signal and deadline, and the signal of all that works on it. */
export class CallScope implements CallContext, Disposable {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #races = new Set<(reason: unknown) => void>();

  constructor({ signal, timeoutMs }: CallOptions) {
    this.#callerSignal = signal;
    if (signal?.aborted) this.cancel();
    else signal?.addEventListener('abort', this.cancel, { once: true });
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#abort(tooLate(timeoutMs)), timeoutMs);
  }

  /** Aborted with an RpcError when the caller gives the call up, its deadline passes, or the call has ended. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The caller gives the call up. */
  readonly cancel = (): void => this.#abort(new RpcError('cancelled', 'The caller cancelled the call.'));

  /** What comes of `work`. When the call is given up first, that is thrown, and the outcome of the work is ignored. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle =
        <V>(act: (value: V) => void) =>
        (value: V) => {
          this.#races.delete(reject);
          act(value);
        };
      work.then(settle(resolve), settle(reject));
      if (this.signal.aborted) reject(this.signal.reason);
      else this.#races.add(reject);
    });
  }

  /** The call has ended. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#callerSignal?.removeEventListener('abort', this.cancel);
    this.#abort(callEnded);
  }

  #abort(reason: RpcError): void {
    if (this.signal.aborted) return;
    this.#controller.abort(reason);
    for (const reject of this.#races) reject(reason);
    this.#races.clear();
  }
}

const callEnded = new RpcError('cancelled', 'The call has ended.');

function tooLate(timeoutMs: number): RpcError {
  return new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`);
}
