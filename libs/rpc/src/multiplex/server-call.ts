import { tellAll } from '../answer-pump.ts';
import { atHand } from '../at-hand.ts';
import { type Deadline, startDeadline } from '../deadlines.ts';
import { isFault, type OnFault, requestIdOf } from '../faults.ts';
import { callEnded, HandlerContext } from '../handler-context.ts';
import { RpcError } from '../rpc-error.ts';
import type { AnswerListener, ToldCall } from '../told-answers.ts';
import { type CallFailure, toCallFailure } from './call-failure.ts';
import type { MultiplexLimits } from './limits.ts';
import { wholeMessage } from './message-assembly.ts';
import { MessageQueue } from './message-queue.ts';
import type { ServedMethod } from './served-methods.ts';
import { type RequestSink, SingleRequest } from './single-request.ts';

/** The way back to the caller. */
export interface AnswerLine {
  /** Sends a message. A promise means: wait for it before sending another. */
  send(message: Uint8Array, isLast: boolean): Promise<void> | undefined;
  /** The call has succeeded; nothing follows. */
  finish(): void;
  fail(failure: CallFailure): void;
  /** So many bytes of the requests have been taken. */
  grant(bytes: number): void;
  /** The call has ended: its place is free. */
  release(): void;
}

export interface ServerCallOptions {
  readonly method: ServedMethod;
  /** 0: no limit. */
  readonly timeoutMs: number;
  readonly line: AnswerLine;
  readonly limits: MultiplexLimits;
  /** Largest message that the caller takes. */
  readonly largestAnswer: number;
  readonly onFault: OnFault | undefined;
}

/**
 * One call from the side of its handler. It ends once: answered, failed, cancelled, too late, or its caller lost. What a
 * handler answers at once, as most do in services that keep their state in memory, needs no deadline and no promise.
 */
export class ServerCall implements AnswerListener<object> {
  readonly #options: ServerCallOptions;
  readonly #context = new HandlerContext();
  /** Absent for a single request that has come in one piece. */
  #requests: RequestSink | undefined;
  #deadline: Deadline | undefined;
  /** What the handler was given. */
  #request: object | undefined;
  #answers: ToldCall | undefined;
  /** What answers wait for, that were told when the line had no room. */
  #room: Promise<void> | undefined;
  #isOver = false;

  constructor(options: ServerCallOptions) {
    this.#options = options;
    if (!options.method.takesOneRequest) this.#requests = this.#requestQueue();
  }

  /** All frames that came together with the opening have been taken. */
  onOpened(): void {
    if (this.#isOver) return;
    const { timeoutMs } = this.#options;
    if (timeoutMs > 0) this.#deadline = startDeadline(timeoutMs, () => this.#onDeadline());
    if (this.#requests instanceof MessageQueue) this.#onRequests(this.#requests);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    if (this.#requests !== undefined) return this.#requests.onPiece(piece, isLastPiece);
    if (isLastPiece && this.#request === undefined) {
      return this.#onRequest(wholeMessage(piece, this.#options.limits.maxMessageBytes));
    }
    this.#requests = this.#singleRequest();
    this.#requests.onPiece(piece, isLastPiece);
  }

  /** The caller sends nothing more. */
  onRequestsEnd(): void {
    if (this.#requests !== undefined) this.#requests.onEnd();
    else if (this.#request === undefined) this.#onMissing();
  }

  /** The caller has given up or is gone. */
  onCancelled(reason: RpcError): void {
    this.#end(reason);
  }

  onAnswer(answer: object): void {
    if (this.#isOver) return;
    try {
      const room = this.#send(answer, false);
      if (room !== undefined) this.#waitFor(room);
    } catch (thrown) {
      this.onFailure(thrown);
    }
  }

  onEnd(): void {
    if (this.#isOver) return;
    if (this.#room !== undefined) return void this.#room.then(() => this.onEnd());
    this.#options.line.finish();
    this.#end(callEnded);
  }

  onFailure(thrown: unknown): void {
    // Whatever fails after the end, mostly by the signal, is nobody's answer.
    if (this.#isOver) return;
    if (this.#room !== undefined) return void this.#room.then(() => this.onFailure(thrown));
    const { method, onFault } = this.#options;
    if (isFault(thrown)) onFault?.(method.name, thrown, requestIdOf(this.#request));
    this.#fail(thrown);
  }

  #requestQueue(): MessageQueue<object> {
    const { method, limits, line } = this.#options;
    return new MessageQueue<object>({
      windowBytes: limits.windowBytes,
      maxMessageBytes: limits.maxMessageBytes,
      grant: (bytes) => line.grant(bytes),
      decode: method.decodeRequest,
      // A handler that has read enough goes on answering; what still comes counts against the window.
      onLeave: () => undefined,
    });
  }

  #singleRequest(): SingleRequest {
    const { limits, line } = this.#options;
    return new SingleRequest(limits, {
      grant: (bytes) => line.grant(bytes),
      onRequest: (message) => this.#onRequest(message),
      onMissing: () => this.#onMissing(),
    });
  }

  #onMissing(): void {
    this.#fail(new RpcError('internal', 'The call has no request.'));
  }

  #onRequest(message: Uint8Array): void {
    // Whatever a caller sends behind its one request is nobody's.
    if (this.#isOver || this.#request !== undefined) return;
    const request = this.#decoded(() => this.#options.method.decodeRequest(message));
    if (request !== undefined) this.#handle(request);
  }

  /** Requests that are all there are given as such: their handler takes them without waiting. */
  #onRequests(queue: MessageQueue<object>): void {
    const request = this.#decoded(() => {
      const messages = queue.takeAll();
      return messages === undefined ? queue : atHand(messages);
    });
    if (request !== undefined) this.#handle(request);
  }

  #decoded(decode: () => object): object | undefined {
    try {
      return decode();
    } catch (thrown) {
      this.#fail(new RpcError('internal', 'The request could not be read.', { cause: thrown }));
      return undefined;
    }
  }

  #handle(request: object): void {
    this.#request = request;
    const { method } = this.#options;
    try {
      if (method.answersOnce) this.#onSingleAnswer(method.handle(request, this.#context));
      else this.#answers = tellAll(method.handle(request, this.#context), this);
    } catch (thrown) {
      this.onFailure(thrown);
    }
  }

  #onSingleAnswer(answer: Promise<object> | object): void {
    if (answer instanceof Promise) {
      void answer.then((response) => this.#finishWith(response)).catch((thrown: unknown) => this.onFailure(thrown));
    } else this.#finishWith(answer);
  }

  #finishWith(response: object): void {
    if (this.#isOver) return;
    const rest = this.#send(response, true);
    if (rest === undefined) this.#end(callEnded);
    else void rest.then(() => this.#end(callEnded));
  }

  #send(response: object, isLast: boolean): Promise<void> | undefined {
    const message = this.#options.method.encodeResponse(response);
    if (message.length > this.#options.largestAnswer) {
      throw new RpcError('internal', `An answer of ${message.length} bytes is more than the caller takes.`);
    }
    return this.#options.line.send(message, isLast);
  }

  /** What is told meanwhile, because it was on its way already, queues behind. The end comes after what waits. */
  #waitFor(room: Promise<void>): void {
    if (this.#room !== undefined) return;
    this.#room = room;
    this.#answers?.pause();
    void room.then(() => {
      this.#room = undefined;
      this.#answers?.resume();
    });
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#options.line.fail(toCallFailure(thrown));
    this.#end(callEnded);
  }

  #onDeadline(): void {
    const reason = new RpcError('deadline_exceeded', `The call took longer than ${this.#options.timeoutMs} ms.`);
    this.#options.line.fail(toCallFailure(reason));
    this.#end(reason);
  }

  #end(reason: RpcError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.cancel();
    this.#options.line.release();
    this.#context.abort(reason);
    this.#requests?.abort(reason);
    this.#answers?.cancel();
    this.#answers = undefined;
  }
}
