import type { Frame, OpenResponse } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import { fromCallFailure, RpcError } from '../errors.ts';
import { type BatchStream, BatchWriter } from './batch-writer.ts';
import { frameOf, MessageQueue, MessageSender } from './flow-control.ts';

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
  /** The only request of a method that takes one; others send theirs by the call. */
  readonly request?: Uint8Array | undefined;
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

  start({ path, timeoutMs, request, signal }: NewCall): ClientCall {
    const id = ++this.#lastCallId;
    const call = new ClientCall(id, this.#writer, signal, () => {
      this.#calls.delete(id);
      if (this.#isClosing) this.close();
    });
    this.#calls.set(id, call);
    const start = { path, timeoutMs: wireMs(timeoutMs), ...(request !== undefined && { request }) };
    this.#writer.send(frameOf(id, { case: 'start', value: start }));
    return call;
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
    for (const call of [...this.#calls.values()]) call.end({ failure: lost });
  }

  #onFrame(frame: Frame): void {
    if (frame.content.case === 'goAway') this.close();
    else this.#calls.get(frame.callId)?.onFrame(frame);
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

  constructor(id: number, writer: BatchWriter, signal: AbortSignal, onEnd: () => void) {
    this.#id = id;
    this.#writer = writer;
    this.#onEnd = onEnd;
    this.#sender = new MessageSender(id, writer);
    this.responses = new MessageQueue(id, writer);
    signal.addEventListener('abort', () => this.#cancel(signal.reason), { once: true, signal: this.#ended.signal });
  }

  /** Sends the requests of a method that takes many. A source that throws cancels the call. */
  async sendAll(requests: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await this.#sender.sendAll(requests, this.#ended.signal);
    } catch (cause) {
      this.#cancel(new RpcError('cancelled', 'The source of the requests failed.', { cause }));
    }
  }

  onFrame({ content, isLast }: Frame): void {
    if (content.case === 'creditBytes') this.#sender.addCredit(content.value);
    if (content.case === 'failure') return this.end({ failure: fromCallFailure(content.value) });
    if (content.case === 'message' && !this.responses.push(content.value)) {
      return this.#cancel(new RpcError('internal', 'The server sent more than it may.'));
    }
    if (isLast) this.end();
  }

  end(end: { readonly failure?: unknown } = {}): void {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.responses.end(end);
    this.#onEnd();
  }

  #cancel(failure: unknown): void {
    if (this.#ended.signal.aborted) return;
    this.#writer.send(frameOf(this.#id, { case: 'cancel', value: {} }));
    this.end({ failure });
  }
}

/** The wire has 0 for none, and 32 bits are more than enough. */
function wireMs(timeoutMs: number | undefined): number {
  return timeoutMs === undefined ? 0 : Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}
