import { type Deadline, startDeadline } from './deadlines.ts';
import { callEnded, HandlerContext } from './handler-context.ts';
import { RpcError } from './rpc-error.ts';
import type { CallContext, CallOptions } from './service-types.ts';

/** One call in process: what ends it from the caller's side, and what the handler learns of that. */
export class DirectCall {
  readonly #context = new HandlerContext();
  readonly #options: CallOptions;
  readonly #onGivenUp: (reason: RpcError) => void;
  #deadline: Deadline | undefined;
  #isOver = false;

  /** `onGivenUp` is told once, when the caller aborts or its deadline passes before the call has ended. */
  constructor(options: CallOptions, onGivenUp: (reason: RpcError) => void) {
    this.#options = options;
    this.#onGivenUp = onGivenUp;
  }

  get context(): CallContext {
    return this.#context;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  start(): void {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) return this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (timeoutMs !== undefined) this.#deadline = startDeadline(timeoutMs, this.#onDeadline);
  }

  /** The call has ended. Whoever still works on it is told by its signal. */
  end(reason: RpcError = callEnded): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.cancel();
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#context.abort(reason);
  }

  readonly #onAbort = () => this.#giveUp(new RpcError('cancelled', 'The caller cancelled the call.'));

  readonly #onDeadline = () =>
    this.#giveUp(new RpcError('deadline_exceeded', `The call took longer than ${this.#options.timeoutMs} ms.`));

  #giveUp(reason: RpcError): void {
    if (this.#isOver) return;
    this.end(reason);
    this.#onGivenUp(reason);
  }
}
