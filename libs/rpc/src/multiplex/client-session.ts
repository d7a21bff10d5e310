import type { Frame, OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { fromCallFailure, RpcError } from '../errors.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { frameOf } from './frames.ts';
import { MessageQueue } from './message-queue.ts';
import { MessageSender } from './message-sender.ts';

/** A stream of calls as grpc-js has it on the side of the client. */
export interface ClientBatchStream extends BatchStream, AsyncIterable<Pick<OpenResponse, 'frames'>> {
  /** No batch follows. */
  end(): void;
  /** Ends the stream in both directions at once. */
  cancel(): void;
}

/** The calls to one replica, all on one stream. */
export class ClientSession {
  readonly #stream: ClientBatchStream;
  readonly #writer: BatchWriter;
  readonly #calls = new Map<number, ClientCall>();
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

  /** Begins a call. `request` is the only one of methods that take one; others send theirs by the call. */
  start(path: string, timeoutMs: number | undefined, request?: Uint8Array): ClientCall {
    const id = ++this.#lastCallId;
    const call = new ClientCall(id, this.#writer, () => this.#forget(id));
    this.#calls.set(id, call);
    const start = { path, timeoutMs: wireMs(timeoutMs), ...(request !== undefined && { request }) };
    this.#writer.send(frameOf(id, { case: 'start', value: start }), () => call.onSent());
    return call;
  }

  /** Starts no more calls, and ends the stream with the last one. */
  close(): void {
    this.#isClosing = true;
    this.#closing.resolve();
    if (this.#calls.size === 0) this.#writer.whenEmpty(() => this.#stream.end());
  }

  async #readAll(): Promise<void> {
    let reason: unknown = new Error('the server ended the stream');
    try {
      for await (const { frames } of this.#stream) for (const frame of frames) this.#onFrame(frame);
    } catch (thrown) {
      reason = thrown;
    }
    this.#stream.cancel();
    this.#isClosing = true;
    this.#closing.resolve();
    for (const call of [...this.#calls.values()]) call.onLost(reason);
  }

  #onFrame(frame: Frame): void {
    if (frame.content.case === 'goAway') this.close();
    else this.#calls.get(frame.callId)?.onFrame(frame);
  }

  #forget(id: number): void {
    this.#calls.delete(id);
    if (this.#isClosing) this.close();
  }
}

/** One call from the side of its caller. It ends once: answered, failed, cancelled, or with its stream. */
export class ClientCall {
  readonly responses: MessageQueue;
  readonly #id: number;
  readonly #writer: BatchWriter;
  readonly #sender: MessageSender;
  readonly #onEnd: () => void;
  readonly #ended = new AbortController();
  #wasSent = false;

  constructor(id: number, writer: BatchWriter, onEnd: () => void) {
    this.#id = id;
    this.#writer = writer;
    this.#onEnd = onEnd;
    this.#sender = new MessageSender(id, writer);
    this.responses = new MessageQueue((bytes) => writer.send(frameOf(id, { case: 'creditBytes', value: bytes })));
  }

  /** The single response of a call that has one. */
  async response(): Promise<Uint8Array> {
    const { value } = await this.responses.next();
    if (value === undefined) throw new RpcError('internal', 'The service answered without a message.');
    return value;
  }

  /** Sends the requests of a method that takes many. A source that throws cancels the call. */
  async sendAll(requests: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await this.#sender.sendAll(requests, this.#ended.signal);
    } catch (cause) {
      this.cancel();
      this.responses.end({ failure: new RpcError('cancelled', 'The source of the requests failed.', { cause }) });
    }
  }

  /** The caller gives the call up. */
  cancel(): void {
    if (this.#end()) this.#writer.send(frameOf(this.#id, { case: 'cancel', value: {} }));
  }

  /** The server may have begun from now on. */
  onSent(): void {
    this.#wasSent = true;
  }

  onFrame({ content, isLast }: Frame): void {
    if (content.case === 'creditBytes') this.#sender.credit.add(content.value);
    if (content.case === 'failure') return this.#finish({ failure: fromCallFailure(content.value) });
    if (content.case === 'message' && !this.responses.push(content.value)) {
      this.cancel();
      return this.responses.end({ failure: new RpcError('internal', 'The server sent more than it may.') });
    }
    if (isLast) this.#finish({});
  }

  onLost(cause: unknown): void {
    this.#finish({ failure: new ConnectionLost(this.#wasSent, cause) });
  }

  #finish(end: { readonly failure?: unknown }): void {
    if (this.#end()) this.responses.end(end);
  }

  #end(): boolean {
    if (this.#ended.signal.aborted) return false;
    this.#ended.abort();
    this.#onEnd();
    return true;
  }
}

/** The stream is gone with all its calls. A call that was never sent may be made elsewhere. */
export class ConnectionLost extends RpcError {
  readonly wasSent: boolean;

  constructor(wasSent: boolean, cause: unknown) {
    super('unavailable', 'The connection to the service was lost.', { cause });
    this.wasSent = wasSent;
  }
}

/** The wire has 0 for none, and 32 bits are more than enough. */
function wireMs(timeoutMs: number | undefined): number {
  return timeoutMs === undefined ? 0 : Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}
