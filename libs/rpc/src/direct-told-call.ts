import type { DescMessage, Message } from '@bufbuild/protobuf';
import { tellAll } from './answer-pump.ts';
import { completeMessage } from './complete-message.ts';
import { DirectCall } from './direct-call.ts';
import type { CallContext, CallOptions } from './service-types.ts';
import { tellEnd, tellFailure, throwUncaught } from './telling.ts';
import type { AnswerListener, ToldCall } from './told-answers.ts';

/**
 * A streaming call in process whose answers are told: straight on from a handler that tells them, else asked for one by
 * one. The caller's signal and its deadline end it at once, also while it is paused.
 */
export class DirectToldCall implements ToldCall, AnswerListener<object> {
  readonly #output: DescMessage;
  readonly #call: DirectCall;
  /** Absent once nothing more is to be told. */
  #listener: AnswerListener<Message> | undefined;
  #source: ToldCall | undefined;
  #hasBegun = false;

  constructor(output: DescMessage, options: CallOptions, listener: AnswerListener<Message>) {
    this.#output = output;
    this.#listener = listener;
    this.#call = new DirectCall(options, (reason) => this.#fail(reason));
  }

  begin(handle: (context: CallContext) => AsyncIterable<object>): void {
    this.#call.start();
    if (!this.#call.isOver) this.#handle(handle);
    this.#hasBegun = true;
  }

  cancel(): void {
    this.#listener = undefined;
    this.#leave();
  }

  pause(): void {
    this.#source?.pause();
  }

  resume(): void {
    this.#source?.resume();
  }

  onAnswer(answer: object): void {
    if (this.#listener === undefined) return;
    try {
      this.#listener.onAnswer(completeMessage(this.#output, answer));
    } catch (thrown) {
      this.#onListenerThrew(thrown);
    }
  }

  onEnd(): void {
    this.#call.end();
    const listener = this.#takeListener();
    if (listener !== undefined) tellEnd(listener);
  }

  onFailure(reason: unknown): void {
    this.#call.end();
    const listener = this.#takeListener();
    if (listener !== undefined) tellFailure(listener, reason);
  }

  #handle(handle: (context: CallContext) => AsyncIterable<object>): void {
    try {
      const source = tellAll(handle(this.#call.context), this);
      // The caller may have given up while its handler began.
      if (this.#call.isOver) source.cancel();
      else this.#source = source;
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  /** As when the body of a loop throws: the call is cancelled, and its caller has the reason. */
  #onListenerThrew(thrown: unknown): void {
    if (this.#listener === undefined) throwUncaught(thrown);
    else this.#fail(thrown);
  }

  #fail(reason: unknown): void {
    this.#leave();
    // Nothing is told before whoever begins the call knows of it.
    if (!this.#hasBegun) return queueMicrotask(() => this.onFailure(reason));
    this.onFailure(reason);
  }

  #leave(): void {
    this.#call.end();
    this.#source?.cancel();
    this.#source = undefined;
  }

  #takeListener(): AnswerListener<Message> | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    return listener;
  }
}
