import { type Deadline, startDeadline } from '../deadlines.ts';
import { isFault, type OnFault, requestIdOf } from '../faults.ts';
import { callEnded, HandlerContext } from '../handler-context.ts';
import type { SingleHandler, StreamHandler } from '../handler-of.ts';
import { RpcError } from '../rpc-error.ts';
import { type CallFailure, toCallFailure } from './call-failure.ts';
import { windowCost } from './frames.ts';
import type { MultiplexLimits } from './limits.ts';
import { MessageAssembly, ReceiveWindow } from './message-assembly.ts';
import { MessageQueue } from './message-queue.ts';
import type { ServedMethod } from './served-methods.ts';

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

/** One call from the side of its handler. It ends once: answered, failed, cancelled, too late, or its caller lost. */
export class ServerCall {
  readonly #options: ServerCallOptions;
  readonly #context = new HandlerContext();
  readonly #requests: RequestSink;
  readonly #deadline: Deadline | undefined;
  #answers: AsyncIterator<object> | undefined;
  #isOver = false;

  constructor(options: ServerCallOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    if (timeoutMs > 0) this.#deadline = startDeadline(timeoutMs, this.#onDeadline);
    this.#requests = this.#sinkOfRequests();
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    this.#requests.onPiece(piece, isLastPiece);
  }

  /** The caller sends nothing more. */
  onEnd(): void {
    this.#requests.onEnd();
  }

  /** The caller has given up or is gone. */
  onCancelled(reason: RpcError): void {
    this.#end(reason);
  }

  #sinkOfRequests(): RequestSink {
    if (this.#options.method.takesOneRequest) return this.#singleRequest();
    const queue = this.#requestQueue();
    // Once the call is entered in its session: a handler may answer at once.
    queueMicrotask(() => this.#handle(queue));
    return queue;
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

  #singleRequest(): RequestSink {
    const { method, limits, line } = this.#options;
    return new SingleRequest(limits, {
      grant: (bytes) => line.grant(bytes),
      onRequest: (message) => this.#decodeAndHandle(method, message),
      onMissing: () => this.#fail(new RpcError('internal', 'The call has no request.')),
    });
  }

  #decodeAndHandle(method: ServedMethod, message: Uint8Array): void {
    try {
      this.#handle(method.decodeRequest(message));
    } catch (thrown) {
      this.#fail(new RpcError('internal', 'The request could not be read.', { cause: thrown }));
    }
  }

  #handle(request: object): void {
    if (this.#isOver) return;
    const { method } = this.#options;
    if (method.answersOnce) void this.#answerOnce(method.handle, request);
    else void this.#answerMany(method.handle, request);
  }

  async #answerOnce(handle: SingleHandler, request: object): Promise<void> {
    try {
      const response = await handle(request, this.#context);
      if (!this.#isOver) this.#finishWith(response);
    } catch (thrown) {
      this.#onThrown(thrown, request);
    }
  }

  async #answerMany(handle: StreamHandler, request: object): Promise<void> {
    try {
      const answers = handle(request, this.#context)[Symbol.asyncIterator]();
      this.#answers = answers;
      while (!this.#isOver) {
        const next = await answers.next();
        if (this.#isOver) return;
        if (next.done) return this.#finish();
        const room = this.#send(next.value, false);
        if (room !== undefined) await room;
      }
    } catch (thrown) {
      this.#onThrown(thrown, request);
    }
  }

  #send(response: object, isLast: boolean): Promise<void> | undefined {
    const message = this.#options.method.encodeResponse(response);
    if (message.length > this.#options.largestAnswer) {
      throw new RpcError('internal', `An answer of ${message.length} bytes is more than the caller takes.`);
    }
    return this.#options.line.send(message, isLast);
  }

  #finishWith(response: object): void {
    const rest = this.#send(response, true);
    if (rest === undefined) this.#end(callEnded);
    else void rest.then(() => this.#end(callEnded));
  }

  #finish(): void {
    this.#options.line.finish();
    this.#end(callEnded);
  }

  #onThrown(thrown: unknown, request: object): void {
    // Whatever fails after the end, mostly by the signal, is nobody's answer.
    if (this.#isOver) return;
    const { method, onFault } = this.#options;
    if (isFault(thrown)) onFault?.(method.name, thrown, requestIdOf(request));
    this.#fail(thrown);
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#options.line.fail(toCallFailure(thrown));
    this.#end(callEnded);
  }

  readonly #onDeadline = () => {
    const reason = new RpcError('deadline_exceeded', `The call took longer than ${this.#options.timeoutMs} ms.`);
    this.#options.line.fail(toCallFailure(reason));
    this.#end(reason);
  };

  #end(reason: RpcError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline?.cancel();
    this.#options.line.release();
    this.#context.abort(reason);
    this.#requests.abort(reason);
    // Not awaited: a handler that is still busy ends by its signal.
    this.#answers?.return?.().then(undefined, () => undefined);
  }
}

interface RequestSink {
  onPiece(piece: Uint8Array, isLastPiece: boolean): void;
  onEnd(): void;
  abort(reason: Error): void;
}

interface SingleRequestEvents {
  readonly grant: (bytes: number) => void;
  readonly onRequest: (message: Uint8Array) => void;
  readonly onMissing: () => void;
}

/** The one message that a call begins with. */
class SingleRequest implements RequestSink {
  readonly #events: SingleRequestEvents;
  readonly #window: ReceiveWindow;
  readonly #assembly: MessageAssembly;
  #hasRequest = false;

  constructor({ windowBytes, maxMessageBytes }: MultiplexLimits, events: SingleRequestEvents) {
    this.#events = events;
    this.#window = new ReceiveWindow(windowBytes, events.grant);
    this.#assembly = new MessageAssembly(maxMessageBytes);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    this.#window.onReceived(piece.length);
    if (this.#hasRequest) return;
    const message = this.#assembly.add(piece, isLastPiece);
    if (message === undefined) return this.#window.onTaken(windowCost(piece.length));
    this.#hasRequest = true;
    this.#events.onRequest(message);
  }

  onEnd(): void {
    if (!this.#hasRequest) this.#events.onMissing();
  }

  abort(): void {
    this.#hasRequest = true;
  }
}
