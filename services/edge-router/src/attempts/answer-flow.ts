import type { ExecuteResponse, Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AnswerListener, type Answers, RpcError, type ToldCall } from '@gateway/rpc';
import type { ClientPresence, LeaveListener } from '../http/client-presence.ts';
import { type AttemptStart, adapterAway, failedAttempt } from './attempt-start.ts';

/** Takes the frames of an answer, from its head on, each in the turn in which it comes. */
export interface AnswerReader {
  /** The one with an outcome is the last. */
  onFrame(frame: ExecuteResponse): void;
  /** The answer ends without an outcome: the client has left, or the adapter has. Nothing follows. */
  onBrokenOff(reason: unknown): void;
}

/**
 * The frames of one attempt as they are told: first to whoever waits for the one that decides, then to a reader. What comes
 * in between is kept. Cancel it, whatever happens: that ends the provider's request.
 */
export class AnswerFlow implements AnswerListener<ExecuteResponse>, LeaveListener {
  readonly #client: ClientPresence;
  readonly #onUsage: (usage: Usage) => void;
  readonly #start = Promise.withResolvers<AttemptStart<AnswerFlow>>();
  #call: ToldCall | undefined;
  /** From the frame with the head on, while there is no reader. */
  #kept: ExecuteResponse[] | undefined;
  #reader: AnswerReader | undefined;
  #isOver = false;
  /** Why it broke off while there was no reader. */
  #failure: { readonly reason: unknown } | undefined;

  /** @param onUsage is told of usage that comes before the answer has begun: the provider is working on it. */
  constructor(client: ClientPresence, onUsage: (usage: Usage) => void) {
    this.#client = client;
    this.#onUsage = onUsage;
  }

  /**
   * Begins the call. Resolves with the first frame that decides: a head, or an outcome without one. Rejects with what is final
   * for the request.
   */
  begin(answers: Answers<ExecuteResponse>): Promise<AttemptStart<AnswerFlow>> {
    this.#client.tell(this);
    if (this.#client.hasLeft) this.onClientLeft();
    else this.#call = answers.tellTo(this);
    return this.#start.promise;
  }

  /** Hands over all frames from the head on. */
  readBy(reader: AnswerReader): void {
    for (const frame of this.#kept ?? []) reader.onFrame(frame);
    this.#kept = undefined;
    this.#reader = reader;
    if (this.#failure !== undefined) reader.onBrokenOff(this.#failure.reason);
  }

  /** No frames come until `resume`, but for those that are on their way already. */
  pause(): void {
    if (!this.#isOver) this.#call?.pause();
  }

  resume(): void {
    if (!this.#isOver) this.#call?.resume();
  }

  cancel(): void {
    this.#isOver = true;
    this.#call?.cancel();
  }

  onAnswer(frame: ExecuteResponse): void {
    if (frame.outcome !== undefined) this.#isOver = true;
    if (this.#reader !== undefined) this.#reader.onFrame(frame);
    else if (this.#kept !== undefined) this.#kept.push(frame);
    else this.#decide(frame);
  }

  onEnd(): void {
    // It follows every answer: an error is made only for one that lacks its outcome.
    if (!this.#isOver) this.onFailure(new RpcError('internal', 'The adapter ended its answer without an outcome.'));
  }

  onFailure(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#reader !== undefined) this.#reader.onBrokenOff(reason);
    else if (this.#kept !== undefined) this.#failure = { reason };
    else if (reason instanceof RpcError && !this.#client.hasLeft) this.#start.resolve(adapterAway(reason));
    else this.#start.reject(reason);
  }

  onClientLeft(): void {
    if (this.#isOver) return;
    this.#call?.cancel();
    this.onFailure(new RpcError('cancelled', 'The client has left.'));
  }

  #decide(frame: ExecuteResponse): void {
    if (frame.head !== undefined) {
      this.#kept = [frame];
      this.#start.resolve({ kind: 'answering', value: this });
    } else if (frame.outcome !== undefined) {
      this.cancel();
      this.#start.resolve(failedAttempt(frame.outcome));
    } else if (frame.usage !== undefined) this.#onUsage(frame.usage);
  }
}
