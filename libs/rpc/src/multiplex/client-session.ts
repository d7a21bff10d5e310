import type { Frame, OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { fromCallFailure, RpcError } from '../errors.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages } from './call-messages.ts';

/** A stream of calls as grpc-js has it on the side of the client. */
export interface ClientBatchStream extends BatchStream, AsyncIterable<Pick<OpenResponse, 'frames'>> {
  /** Ends the stream in both directions at once. */
  cancel(): void;
}

export interface NewCall {
  /** `/package.Service/Method` */
  readonly path: string;
  /** Ends the call, and must be aborted when its caller has left it. */
  readonly signal: AbortSignal;
  readonly timeoutMs?: number | undefined;
  /** The trace that it is part of. */
  readonly traceparent?: string | undefined;
  /** The only request, or those of a method that takes many. A source that throws cancels the call. */
  readonly request: Uint8Array | AsyncIterable<Uint8Array>;
  /** The server has ended the call with success, whatever of its answer is read later. */
  readonly onAnswered?: (() => void) | undefined;
}

type RunningCall = Pick<NewCall, 'onAnswered'> & { readonly messages: CallMessages };

/** The calls to one replica, all on one stream. Each ends once: answered, failed, cancelled, or with the stream. */
export class ClientSession {
  readonly #stream: ClientBatchStream;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, RunningCall>();
  readonly #closing = Promise.withResolvers<void>();
  #lastCallId = 0;
  #isClosing = false;

  constructor(stream: ClientBatchStream) {
    this.#stream = stream;
    this.#writer = new BatchWriter(stream);
    void this.#readAll();
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  /** Resolves when no more calls may be started here: the server stops, or the stream is lost. */
  get closing(): Promise<void> {
    return this.#closing.promise;
  }

  /** Starts a call, and gives its responses. */
  start({ path, timeoutMs, traceparent = '', request, signal, onAnswered }: NewCall): AsyncIterable<Uint8Array> {
    const id = ++this.#lastCallId;
    const messages = new CallMessages(id, this.#writer);
    this.#calls.set(id, { messages, onAnswered });
    signal.addEventListener('abort', () => this.#cancel(id, signal.reason), { once: true });
    const single = request instanceof Uint8Array ? request : undefined;
    messages.send({ case: 'start', value: { path, timeoutMs: wireMs(timeoutMs), traceparent, request: single } });
    if (!(request instanceof Uint8Array)) void this.#sendAll(id, messages, request);
    return messages;
  }

  /** Starts no more calls, and ends the stream with the last one. */
  close(): void {
    this.#isClosing = true;
    this.#closing.resolve();
    if (this.#calls.size === 0) this.#writer.end();
  }

  async #readAll(): Promise<void> {
    let cause: unknown = new Error('the server ended the stream');
    try {
      for await (const { frames } of this.#stream) for (const frame of frames) this.#onFrame(frame);
    } catch (thrown) {
      cause = thrown;
    }
    this.#stream.cancel();
    this.#closing.resolve();
    const lost = new RpcError('unavailable', 'The connection to the service was lost.', { cause });
    for (const id of [...this.#calls.keys()]) this.#end(id, lost);
  }

  /** Stops when the call has ended. */
  async #sendAll(id: number, messages: CallMessages, requests: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const message of requests) {
        if (!this.#calls.has(id)) return;
        await messages.sendMessage(message);
      }
      if (this.#calls.has(id)) messages.sendEnd();
    } catch (cause) {
      this.#cancel(id, new RpcError('cancelled', 'The source of the requests failed.', { cause }));
    }
  }

  #onFrame(frame: Frame): void {
    const { callId: id, content, isLast } = frame;
    if (content.case === 'goAway') return this.close();
    if (content.case === 'failure') return this.#end(id, fromCallFailure(content.value));
    if (this.#calls.get(id)?.messages.onFrame(frame) === false) {
      return this.#cancel(id, new RpcError('internal', 'The server sent more than it may.'));
    }
    if (isLast) this.#end(id);
  }

  #cancel(id: number, failure: Error): void {
    this.#calls.get(id)?.messages.send({ case: 'cancel', value: {} });
    this.#end(id, failure);
  }

  #end(id: number, failure?: Error): void {
    const call = this.#calls.get(id);
    if (!this.#calls.delete(id)) return;
    if (failure === undefined) call?.onAnswered?.();
    call?.messages.close(failure);
    if (this.#isClosing) this.close();
  }
}

/** The wire has 0 for none, and 32 bits are more than enough. */
function wireMs(timeoutMs: number | undefined): number {
  return timeoutMs === undefined ? 0 : Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}
