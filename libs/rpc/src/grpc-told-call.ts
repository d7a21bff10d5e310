import type { ClientReadableStream } from '@grpc/grpc-js';
import { fromServiceError } from './error-metadata.ts';
import { RpcError } from './rpc-error.ts';
import type { CallOptions } from './service-types.ts';
import { tellEnd, tellFailure, throwUncaught } from './telling.ts';
import type { AnswerListener, ToldCall } from './told-answers.ts';

/** A streaming call over plain gRPC whose answers are told. */
export class GrpcToldCall implements ToldCall {
  readonly #signal: AbortSignal | undefined;
  /** Absent once nothing more is to be told. */
  #listener: AnswerListener<object> | undefined;
  #stream: ClientReadableStream<object> | undefined;
  #failure: Error | undefined;
  #hasBegun = false;

  constructor({ signal }: CallOptions, listener: AnswerListener<object>) {
    this.#signal = signal;
    this.#listener = listener;
  }

  begin(start: () => ClientReadableStream<object>): void {
    if (this.#signal?.aborted) this.#onAbort();
    else this.#start(start);
    this.#hasBegun = true;
  }

  cancel(): void {
    this.#takeListener();
    this.#stream?.cancel();
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  #start(start: () => ClientReadableStream<object>): void {
    try {
      const stream = start();
      this.#stream = stream;
      stream.on('data', (answer: object) => this.#onAnswer(answer));
      stream.on('error', (thrown) => this.#onError(fromServiceError(thrown)));
      stream.on('end', () => this.#onEnd());
      this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  #onAnswer(answer: object): void {
    try {
      this.#listener?.onAnswer(answer);
    } catch (thrown) {
      // As when the body of a loop throws: the call is cancelled, and its caller has the reason.
      if (this.#listener === undefined) throwUncaught(thrown);
      else this.#fail(thrown);
    }
  }

  /** Answers that came before a failure are told first; a deadline that has passed is passed at once. */
  #onError(failure: Error): void {
    if (failure instanceof RpcError && failure.status === 'deadline_exceeded') this.#fail(failure);
    else this.#failure = failure;
  }

  #onEnd(): void {
    const listener = this.#takeListener();
    if (listener === undefined) return;
    if (this.#failure === undefined) tellEnd(listener);
    else tellFailure(listener, this.#failure);
  }

  readonly #onAbort = () => this.#fail(new RpcError('cancelled', 'The caller cancelled the call.'));

  #fail(reason: unknown): void {
    this.#stream?.cancel();
    // Nothing is told before whoever begins the call knows of it.
    if (this.#hasBegun) this.#tellFailure(reason);
    else queueMicrotask(() => this.#tellFailure(reason));
  }

  #tellFailure(reason: unknown): void {
    const listener = this.#takeListener();
    if (listener !== undefined) tellFailure(listener, reason);
  }

  #takeListener(): AnswerListener<object> | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#signal?.removeEventListener('abort', this.#onAbort);
    return listener;
  }
}
