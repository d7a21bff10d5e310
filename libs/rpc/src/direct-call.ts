import { type Deadline, startDeadline } from './deadlines.ts';
import { callEnded, HandlerContext } from './handler-context.ts';
import { RpcError } from './rpc-error.ts';
import type { CallContext, CallOptions } from './service-types.ts';

/** One call in process: what ends it from the caller's side, and what the handler learns of that. */
export class DirectCall {
  readonly #context: HandlerContext;
  readonly #options: CallOptions;
  readonly #onGivenUp: (reason: RpcError) => void;
  #deadline: Deadline | undefined;
  #abortListener: (() => void) | undefined;
  #isOver = false;

  /** `onGivenUp` is told once, when the caller aborts or its deadline passes before the call has ended. */
  constructor(options: CallOptions, onGivenUp: (reason: RpcError) => void, context = new HandlerContext()) {
    this.#context = context;
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
    if (signal?.aborted) return this.#giveUp(callerCancelled());
    if (signal !== undefined) this.#listenTo(signal);
    if (timeoutMs !== undefined) this.#deadline = startDeadline(timeoutMs, () => this.#giveUp(tooLate(timeoutMs)));
  }

  /** The call has ended. Whoever still works on it is told by its signal. */
  end(reason: RpcError = callEnded): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.cancel();
    if (this.#abortListener !== undefined) this.#options.signal?.removeEventListener('abort', this.#abortListener);
    this.#context.abort(reason);
  }

  #listenTo(signal: AbortSignal): void {
    this.#abortListener = () => this.#giveUp(callerCancelled());
    signal.addEventListener('abort', this.#abortListener, { once: true });
  }

  #giveUp(reason: RpcError): void {
    if (this.#isOver) return;
    this.end(reason);
    this.#onGivenUp(reason);
  }
}

export function callerCancelled(): RpcError {
  return new RpcError('cancelled', 'The caller cancelled the call.');
}

function tooLate(timeoutMs: number): RpcError {
  return new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`);
}
