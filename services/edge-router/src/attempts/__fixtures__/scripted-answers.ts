import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type ExecuteResponse, ExecuteResponseSchema } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { AnswerListener, Answers, ToldCall } from '@gateway/rpc';
import type { UsageObserver } from '../answer-flow.ts';

/** For what an attempt has used where a test does not look at it. */
export const unobserved: UsageObserver = { onSent: () => undefined, onUsage: () => undefined };

/** A frame, the end of all, a failure, or nothing more for as long as the call lasts. */
export type ScriptedFrame = MessageInitShape<typeof ExecuteResponseSchema> | 'end' | 'hang' | Error;

/** An adapter's answers that are told as they stand in a script, each in a turn of its own, unless told that they come together. */
export class ScriptedAnswers implements Answers<ExecuteResponse>, ToldCall {
  readonly #script: ScriptedFrame[];
  readonly #areTogether: boolean;
  #listener: AnswerListener<ExecuteResponse> | undefined;
  #isPaused = false;
  /** What the listener did of itself, in order. */
  readonly done: string[] = [];

  constructor(script: readonly ScriptedFrame[], { together = false } = {}) {
    this.#script = [...script];
    this.#areTogether = together;
  }

  tellTo(listener: AnswerListener<ExecuteResponse>): this {
    this.#listener = listener;
    this.#tellLater();
    return this;
  }

  cancel(): void {
    this.#listener = undefined;
    this.done.push('cancelled');
  }

  pause(): void {
    this.#isPaused = true;
    this.done.push('paused');
  }

  resume(): void {
    this.#isPaused = false;
    this.done.push('resumed');
    this.#tellLater();
  }

  [Symbol.asyncIterator](): AsyncIterator<ExecuteResponse> {
    throw new Error('these answers are told');
  }

  #tellLater(): void {
    setImmediate(() => this.#tell());
  }

  #tell(): void {
    do {
      if (this.#isPaused || this.#listener === undefined) return;
      const frame = this.#script.shift();
      if (frame === undefined || frame === 'hang') return;
      if (frame === 'end') this.#listener.onEnd();
      else if (frame instanceof Error) this.#listener.onFailure(frame);
      else this.#listener.onAnswer(create(ExecuteResponseSchema, frame));
    } while (this.#areTogether);
    this.#tellLater();
  }
}
