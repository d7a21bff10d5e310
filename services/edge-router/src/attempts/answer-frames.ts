import type { ExecuteResponse } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { RpcError } from '@gateway/rpc';
import { cancelTimer, startTimer, type Timer } from '@gateway/time';
import { AnswerTooLongError } from './attempt-errors.ts';

export interface AnswerFramesOptions {
  /** Aborting it ends the adapter's call. */
  readonly call: AbortController;
  /** Aborted when the client disconnects. */
  readonly client: AbortSignal;
  /** Whether usage of the provider is recorded. */
  readonly isRecorded: boolean;
}

/**
 * The frames of one attempt. The frame with a result is the last.
 *
 * When the client disconnects, the call is aborted at once. Exception: until the adapter reports
 * that a recorded request was sent, it has 500 ms to do so, so that exactly the requests that were
 * sent are recorded.
 */
export class AnswerFrames {
  readonly #answer: AsyncIterator<ExecuteResponse>;
  readonly #call: AbortController;
  readonly #client: AbortSignal;
  #isSent: boolean;
  #isClosed = false;
  #patience: Timer | undefined;

  constructor(answer: AsyncIterable<ExecuteResponse>, { call, client, isRecorded }: AnswerFramesOptions) {
    client.throwIfAborted();
    this.#answer = answer[Symbol.asyncIterator]();
    this.#call = call;
    this.#client = client;
    this.#isSent = !isRecorded;
    client.addEventListener('abort', this.#onLeave, { once: true });
  }

  /**
   * Throws when the answer ends without a result, and `AnswerTooLongError` when it lasts too long.
   * They are closed then.
   */
  async next(): Promise<ExecuteResponse> {
    try {
      const { value: frame, done } = await this.#answer.next();
      if (done) throw new RpcError('internal', 'The adapter ended its answer without a result.');
      this.#isSent = true;
      if (this.#client.aborted) this.#call.abort();
      if (frame.result !== undefined) this.close();
      return frame;
    } catch (thrown) {
      this.close();
      // The call's own deadline limits the duration of an answer.
      const isTooLong = thrown instanceof RpcError && thrown.status === 'deadline_exceeded';
      throw isTooLong ? new AnswerTooLongError(thrown) : thrown;
    }
  }

  /** Cancels the provider's request, unless the answer has ended. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    cancelTimer(this.#patience);
    this.#client.removeEventListener('abort', this.#onLeave);
    // Not awaited: a busy adapter ends by its signal.
    this.#answer.return?.().catch(() => undefined);
  }

  readonly #onLeave = (): void => {
    if (this.#isSent) this.#call.abort();
    else this.#patience = startTimer(() => this.#call.abort(), adapterAnswersWithinMs);
  };
}

/** The adapter's report takes far less on a machine that is not overloaded. */
const adapterAnswersWithinMs = 500;
