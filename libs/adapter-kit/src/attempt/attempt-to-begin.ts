import type { AnswerListener, ToldCall } from '@gateway/rpc';
import type { AdapterContext } from '../adapter-context.ts';
import type { ExecuteFrame } from './answer-frames.ts';
import { Attempt } from './attempt.ts';
import type { AttemptedCall } from './attempted-call.ts';

/** An attempt whose request takes some waiting: it is still on its way, or translated in another thread. */
export class AttemptToBegin implements ToldCall {
  readonly #context: AdapterContext;
  readonly #listener: AnswerListener<ExecuteFrame>;
  readonly #leaving = new AbortController();
  #attempt: Attempt | undefined;
  #isPaused = false;

  constructor(context: AdapterContext, listener: AnswerListener<ExecuteFrame>) {
    this.#context = context;
    this.#listener = listener;
  }

  /** What preparing the request throws is told as the call's failure. */
  async begin(prepare: (signal: AbortSignal) => Promise<AttemptedCall>): Promise<void> {
    try {
      const call = await prepare(this.#leaving.signal);
      if (!this.#leaving.signal.aborted) this.#beginWith(call);
    } catch (thrown) {
      if (!this.#leaving.signal.aborted) this.#listener.onFailure(thrown);
    }
  }

  cancel(): void {
    this.#leaving.abort();
    this.#attempt?.cancel();
  }

  pause(): void {
    this.#isPaused = true;
    this.#attempt?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#attempt?.resume();
  }

  #beginWith(call: AttemptedCall): void {
    this.#attempt = new Attempt(this.#context, call, this.#listener);
    if (this.#isPaused) this.#attempt.pause();
    this.#attempt.begin();
  }
}

/** A call that has failed already, which its listener is told in a moment. */
export function beganToFail(listener: AnswerListener<ExecuteFrame>, reason: unknown): ToldCall {
  let isWanted = true;
  queueMicrotask(() => {
    if (isWanted) listener.onFailure(reason);
  });
  return {
    cancel: () => {
      isWanted = false;
    },
    pause: () => undefined,
    resume: () => undefined,
  };
}
