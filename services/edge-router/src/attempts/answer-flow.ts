import type { ExecuteResponse, Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import { type AnswerListener, type Answers, RpcError, type ToldCall } from '@gateway/rpc';
import type { ClientPresence, LeaveListener } from '../http/client-presence.ts';
import { AnswerTooLongError } from './answer-too-long-error.ts';
import { type AttemptStart, adapterAway, failedAttempt } from './attempt-start.ts';

/** Takes the frames of an answer, from its head on, each in the turn in which it comes. */
export interface AnswerReader {
  /** The one with an outcome is the last. */
  onFrame(frame: ExecuteResponse): void;
  /** The answer ends without an outcome: the client has left, or the adapter has. Nothing follows. */
  onBrokenOff(reason: unknown): void;
}

/** Is told what an attempt has used before its answer has begun. */
export interface UsageObserver {
  /** The request has been sent to the provider, with what that uses at least. */
  onSent(usage: Usage): void;
  /** The provider is working on it. */
  onUsage(usage: Usage): void;
}

/**
 * The frames of one attempt as they are told: first to whoever waits for the one that decides, then to a reader. What comes
 * in between is kept. Cancel it, whatever happens: that ends the provider's request.
 */
export class AnswerFlow implements AnswerListener<ExecuteResponse>, LeaveListener {
  readonly #client: ClientPresence;
  readonly #observer: UsageObserver;
  readonly #start = Promise.withResolvers<AttemptStart<AnswerFlow>>();
  #call: ToldCall | undefined;
  /** From the frame with the head on, while there is no reader. */
  #kept: ExecuteResponse[] | undefined;
  #reader: AnswerReader | undefined;
  #isOver = false;
  #isSent = false;
  /** While the client has left and it is not known whether the request was sent. */
  #leaving: NodeJS.Timeout | undefined;
  /** Why it broke off while there was no reader. */
  #failure: { readonly reason: unknown } | undefined;

  constructor(client: ClientPresence, observer: UsageObserver) {
    this.#client = client;
    this.#observer = observer;
  }

  /**
   * Begins the call. Resolves with the first frame that decides: a head, or an outcome without one. Rejects with what is final
   * for the request.
   */
  begin(answers: Answers<ExecuteResponse>): Promise<AttemptStart<AnswerFlow>> {
    this.#client.tell(this);
    if (this.#client.hasLeft) this.#leave();
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
    clearTimeout(this.#leaving);
    this.#call?.cancel();
  }

  onAnswer(frame: ExecuteResponse): void {
    if (frame.outcome !== undefined) this.#end();
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
    this.#end();
    const failure = isTooLong(reason) ? new AnswerTooLongError(reason) : reason;
    if (this.#reader !== undefined) this.#reader.onBrokenOff(failure);
    else if (this.#kept !== undefined) this.#failure = { reason: failure };
    else if (failure instanceof RpcError && !this.#client.hasLeft) this.#start.resolve(adapterAway(failure));
    else this.#start.reject(failure);
  }

  /**
   * The provider's request is cancelled at once. Before it is known to have been sent, the adapter has a little time to say so: what
   * the provider was asked must be recorded, and what it was not must not.
   */
  onClientLeft(): void {
    if (this.#isOver || this.#leaving !== undefined) return;
    if (this.#isSent) this.#leave();
    else this.#leaving = setTimeout(() => this.#leave(), wordOfAdapterMs);
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#call?.cancel();
    this.onFailure(new RpcError('cancelled', 'The client has left.'));
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#leaving);
  }

  #decide(frame: ExecuteResponse): void {
    const { head, outcome, usage } = frame;
    if (head !== undefined) {
      this.#kept = [frame];
      this.#start.resolve({ kind: 'answering', value: this });
    } else if (outcome !== undefined) {
      this.cancel();
      this.#start.resolve(failedAttempt(outcome));
    } else if (usage !== undefined) {
      if (frame.sent) this.#observer.onSent(usage);
      else this.#observer.onUsage(usage);
    }
    this.#isSent = true;
    if (this.#client.hasLeft) this.#leave();
  }
}

/** The call's own deadline is how long an answer may last. */
function isTooLong(reason: unknown): boolean {
  return reason instanceof RpcError && reason.status === 'deadline_exceeded';
}

/** The adapter's word is under way for much less, on a machine that is not overloaded. */
const wordOfAdapterMs = 500;
