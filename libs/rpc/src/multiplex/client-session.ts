import type { Frame, OpenResponse } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import { fromCallFailure, RpcError } from '../errors.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { CallMessages, frameOf } from './call-messages.ts';

/** A grpc-js stream of calls, on the client's side. */
export interface ClientBatchStream extends BatchStream, AsyncIterable<Pick<OpenResponse, 'frames'>> {
  /** Ends the stream in both directions at once. */
  cancel(): void;
}

interface AnyCall {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly timeoutMs?: number | undefined;
  /** The trace that the call is part of. */
  readonly traceparent?: string | undefined;
}

/** A call with one request and one answer. */
export interface UnaryRequest extends AnyCall {
  readonly request: Uint8Array;
}

/** A call of any other kind. */
export interface NewCall extends AnyCall {
  /** Ends the call. It must be aborted when the caller leaves the call. */
  readonly signal: AbortSignal;
  /**
   * The single request, or the requests of a streaming method. A source that throws cancels the
   * call.
   */
  readonly request: Uint8Array | AsyncIterable<Uint8Array>;
  /**
   * Called when the server ends the call with success, even if the caller does not read the answer.
   */
  readonly onAnswered?: (() => void) | undefined;
}

/** Receives the frames of one call. */
interface Receiver {
  /** False when the server sends more than it may. */
  onFrame(frame: Frame): boolean;
  /** Called when no frame follows. */
  close(failure?: Error): void;
}

/**
 * The calls to one replica, all on one stream. Each call ends once: answered, failed, cancelled, or
 * with the stream.
 */
export class ClientSession {
  readonly #stream: ClientBatchStream;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, Receiver>();
  readonly #closing = Promise.withResolvers<void>();
  #lastCallId = 0;
  #received = 0;
  #isClosing = false;

  constructor(stream: ClientBatchStream) {
    this.#stream = stream;
    this.#writer = new BatchWriter(stream);
    void this.#readAll();
  }

  /** How many batches have arrived. */
  get received(): number {
    return this.#received;
  }

  get inFlight(): number {
    return this.#calls.size;
  }

  /**
   * Resolves when no further calls may start here: the server is stopping, or the stream is lost.
   */
  get closing(): Promise<void> {
    return this.#closing.promise;
  }

  /** Makes a unary call. Its answer rejects when the call fails or is cancelled. */
  ask(call: UnaryRequest): { readonly answer: Promise<Uint8Array>; cancel(reason: Error): void } {
    const answer = new UnaryAnswer();
    const id = this.#open(call, call.request, answer);
    return { answer: answer.bytes, cancel: (reason) => this.#cancel(id, reason) };
  }

  /** Starts a call and returns its responses. */
  start(call: NewCall): AsyncIterable<Uint8Array> {
    const { request, signal, onAnswered } = call;
    const messages = new CallMessages(this.#lastCallId + 1, this.#writer);
    const single = request instanceof Uint8Array ? request : undefined;
    const id = this.#open(call, single, {
      onFrame: (frame) => messages.onFrame(frame),
      close(failure) {
        if (failure === undefined) onAnswered?.();
        messages.close(failure);
      },
    });
    signal.addEventListener('abort', () => this.#cancel(id, signal.reason), { once: true });
    if (!(request instanceof Uint8Array)) void this.#sendAll(id, messages, request);
    return messages;
  }

  /** Starts no further calls, and ends the stream when the last one ends. */
  close(): void {
    this.#isClosing = true;
    this.#closing.resolve();
    if (this.#calls.size === 0) this.#writer.end();
  }

  async #readAll(): Promise<void> {
    let cause: unknown = new Error('the server ended the stream');
    try {
      for await (const { frames } of this.#stream) {
        this.#received += 1;
        for (const frame of frames) this.#onFrame(frame);
      }
    } catch (thrown) {
      cause = thrown;
    }
    this.#stream.cancel();
    this.#closing.resolve();
    const lost = new RpcError('unavailable', 'The connection to the service was lost.', { cause });
    for (const id of [...this.#calls.keys()]) this.#end(id, lost);
  }

  /** Sends the requests until the call ends. */
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
    if (this.#calls.get(id)?.onFrame(frame) === false) {
      return this.#cancel(id, new RpcError('internal', 'The server exceeded its flow-control window.'));
    }
    if (isLast) this.#end(id);
  }

  /** Sends the start of a call, with its request if there is a single one. */
  #open({ path, timeoutMs, traceparent = '' }: AnyCall, request: Uint8Array | undefined, receiver: Receiver): number {
    const id = ++this.#lastCallId;
    this.#calls.set(id, receiver);
    const $typeName = 'gateway.rpc.v2.Start';
    const start = { $typeName, path, timeoutMs: wireMs(timeoutMs), request, traceparent } as const;
    this.#writer.send(frameOf(id, { case: 'start', value: start }));
    return id;
  }

  #cancel(id: number, failure: Error): void {
    if (!this.#calls.has(id)) return;
    this.#writer.send(frameOf(id, { case: 'cancel', value: { $typeName: 'gateway.rpc.v2.Cancel' } }));
    this.#end(id, failure);
  }

  #end(id: number, failure?: Error): void {
    const call = this.#calls.get(id);
    if (!this.#calls.delete(id)) return;
    call?.close(failure);
    if (this.#isClosing) this.close();
  }
}

/** The answer of a unary call. */
class UnaryAnswer implements Receiver {
  readonly #answer = Promise.withResolvers<Uint8Array>();
  #bytes: Uint8Array | undefined;

  get bytes(): Promise<Uint8Array> {
    return this.#answer.promise;
  }

  onFrame({ content }: Frame): boolean {
    if (content.case !== 'message') return true;
    if (this.#bytes !== undefined) return false;
    this.#bytes = content.value;
    return true;
  }

  close(failure?: Error): void {
    if (failure !== undefined) this.#answer.reject(failure);
    else if (this.#bytes !== undefined) this.#answer.resolve(this.#bytes);
    else this.#answer.reject(new RpcError('internal', 'The service answered without a message.'));
  }
}

/** On the wire 0 means no deadline, and 32 bits are more than enough. */
function wireMs(timeoutMs: number | undefined): number {
  return timeoutMs === undefined ? 0 : Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}
