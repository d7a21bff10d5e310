import { type Deadline, startDeadline } from '../deadlines.ts';
import { RpcError } from '../rpc-error.ts';
import type { CallOptions } from '../service-types.ts';
import type { MessageBytes } from '../wire/message-in-parts.ts';
import type { Departure } from './outbox.ts';

/** What a call is bound to: its place on a stream of calls, or a plain gRPC call. */
export interface CallLine {
  /** Sends a message. A promise means: wait for it before sending another. */
  send(message: MessageBytes, isLast: boolean): Promise<void> | undefined;
  /** No message follows. */
  finish(): void;
  /** So many bytes of the answer have been taken. */
  grant(bytes: number): void;
  /** The call is given up. */
  cancel(): void;
}

/** Where the answer of a call goes. It is told of an end or a failure once, and of nothing after. */
export interface AnswerSink {
  onPiece(piece: Uint8Array, isLastPiece: boolean): void;
  onEnd(): void;
  onFailure(failure: Error): void;
  /** As onFailure, but what waits to be read is dropped. */
  abort(failure: Error): void;
}

/** Finds a replica for a call, now or when one is there, and binds the call to it. */
export interface Dispatcher {
  dispatch(call: ClientCall): void;
}

/**
 * One call from the side of its caller, from the moment it is made: it may still wait for a replica, and it may move to
 * another one as long as nothing of it has been sent. It ends once: answered, failed, cancelled or too late.
 */
export class ClientCall implements Departure {
  readonly path: string;
  readonly sink: AnswerSink;
  readonly #options: CallOptions;
  readonly #dispatcher: Dispatcher;
  /** When its time is over; only told to those who ask later than at its start. */
  #deadlineMs = 0;
  #isStarting = false;
  #deadline: Deadline | undefined;
  #abortListener: (() => void) | undefined;
  #line: CallLine | undefined;
  #hasDeparted = false;
  #isOver = false;
  /** What was to be sent before the opening left; sent again if it never leaves. */
  #unsent: Unsent[] | undefined;
  #bound: PromiseWithResolvers<void> | undefined;

  constructor(path: string, options: CallOptions, sink: AnswerSink, dispatcher: Dispatcher) {
    this.path = path;
    this.sink = sink;
    this.#options = options;
    this.#dispatcher = dispatcher;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What is left of the time limit in whole milliseconds, at least 1; 0 when there is none. */
  get timeoutMs(): number {
    const { timeoutMs } = this.#options;
    if (timeoutMs === undefined) return 0;
    return wireMs(this.#isStarting ? timeoutMs : this.#deadlineMs - now());
  }

  start(): void {
    const { signal, timeoutMs } = this.#options;
    if (signal?.aborted) return this.#onAbort();
    if (signal !== undefined) this.#listenTo(signal);
    if (timeoutMs !== undefined) this.#startDeadline(timeoutMs);
    // Most calls leave at once, with all their time.
    this.#isStarting = true;
    this.#dispatcher.dispatch(this);
    this.#isStarting = false;
  }

  send(message: MessageBytes, isLast: boolean): Promise<void> | undefined {
    if (this.#isOver) return undefined;
    if (!this.#hasDeparted) this.#keep({ message, isLast });
    if (this.#line !== undefined) return this.#line.send(message, isLast);
    this.#bound ??= Promise.withResolvers<void>();
    return this.#bound.promise;
  }

  finish(): void {
    if (this.#isOver) return;
    if (!this.#hasDeparted) this.#keep({ message: undefined, isLast: true });
    this.#line?.finish();
  }

  grant(bytes: number): void {
    if (!this.#isOver) this.#line?.grant(bytes);
  }

  /** A replica takes the call. */
  bind(line: CallLine): void {
    this.#line = line;
    for (const { message, isLast } of this.#unsent ?? []) {
      if (message === undefined) line.finish();
      else line.send(message, isLast);
    }
    this.#bound?.resolve();
    this.#bound = undefined;
  }

  onDeparture(): void {
    this.#hasDeparted = true;
    this.#unsent = undefined;
  }

  onEnd(): void {
    if (this.#settle()) this.sink.onEnd();
  }

  onFailure(failure: Error): void {
    if (this.#settle()) this.sink.onFailure(failure);
  }

  /** The replica is lost. A call of which nothing was sent goes to another one. */
  onLost(reason: RpcError): void {
    if (this.#hasDeparted || reason.status !== 'unavailable') return this.onFailure(reason);
    this.#line = undefined;
    if (!this.#isOver) this.#dispatcher.dispatch(this);
  }

  /** Ends the call from the caller's side. Its sink is not told. */
  abandon(): void {
    if (this.#settle()) this.#line?.cancel();
  }

  /** Whatever gives the requests has failed. */
  onSourceFailed(cause: unknown): void {
    this.giveUp(new RpcError('cancelled', 'The source of the requests failed.', { cause }));
  }

  /** Ends the call from the caller's side: the server stops working on it, and the caller has the reason at once. */
  giveUp(reason: RpcError): void {
    if (!this.#settle()) return;
    this.#line?.cancel();
    this.sink.abort(reason);
  }

  #listenTo(signal: AbortSignal): void {
    this.#abortListener = () => this.#onAbort();
    signal.addEventListener('abort', this.#abortListener, { once: true });
  }

  #startDeadline(timeoutMs: number): void {
    const startedMs = now();
    this.#deadlineMs = startedMs + timeoutMs;
    this.#deadline = startDeadline(timeoutMs, () => this.#onDeadline(timeoutMs), startedMs);
  }

  #onAbort(): void {
    this.giveUp(new RpcError('cancelled', 'The caller cancelled the call.'));
  }

  #onDeadline(timeoutMs: number): void {
    this.giveUp(new RpcError('deadline_exceeded', `The call took longer than ${timeoutMs} ms.`));
  }

  #settle(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#unsent = undefined;
    this.#bound?.resolve();
    this.#deadline?.cancel();
    if (this.#abortListener !== undefined) this.#options.signal?.removeEventListener('abort', this.#abortListener);
    return true;
  }

  #keep(unsent: Unsent): void {
    // A list of one: an empty list that grows takes room for seventeen.
    if (this.#unsent === undefined) this.#unsent = [unsent];
    else this.#unsent.push(unsent);
  }
}

interface Unsent {
  /** Absent: the end without a message. */
  readonly message: MessageBytes | undefined;
  readonly isLast: boolean;
}

function now(): number {
  return performance.now();
}

/** The wire has 0 for none, and 31 bits are more than enough. */
function wireMs(durationMs: number): number {
  return Math.min(Math.max(1, Math.ceil(durationMs)), 2 ** 31 - 1);
}
