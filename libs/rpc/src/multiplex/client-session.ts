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
    const messages = new CallMessages(id, this.#writer);
    const call = new ClientCall(messages, signal, () => {
      this.#calls.delete(id);
      if (this.#isClosing) this.close();
    });
    this.#calls.set(id, call);
    messages.send({ case: 'start', value: { path, timeoutMs: wireMs(timeoutMs), request } });
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
    for (const call of [...this.#calls.values()]) call.end(lost);
  }

  #onFrame(frame: Frame): void {
    if (frame.content.case === 'goAway') this.close();
    else this.#calls.get(frame.callId)?.onFrame(frame);
  }
}

/** One call from the side of its caller. It ends once: answered, failed, cancelled, or with its stream. */
class ClientCall {
  readonly responses: CallMessages;
  readonly #signal: AbortSignal;
  readonly #onEnd: () => void;

  constructor(messages: CallMessages, signal: AbortSignal, onEnd: () => void) {
    this.responses = messages;
    this.#signal = signal;
    this.#onEnd = onEnd;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Sends the requests of a method that takes many. A source that throws cancels the call. */
  async sendAll(requests: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await this.responses.sendAll(requests);
    } catch (cause) {
      this.#cancel(new RpcError('cancelled', 'The source of the requests failed.', { cause }));
    }
  }

  onFrame(frame: Frame): void {
    if (frame.content.case === 'failure') return this.end(fromCallFailure(frame.content.value));
    if (!this.responses.onFrame(frame)) {
      return this.#cancel(new RpcError('internal', 'The server sent more than it may.'));
    }
    if (frame.isLast) this.end();
  }

  end(failure?: Error): void {
    if (this.responses.isClosed) return;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.responses.close(failure);
    this.#onEnd();
  }

  readonly #onAbort = (): void => this.#cancel(this.#signal.reason);

  #cancel(failure: Error): void {
    if (this.responses.isClosed) return;
    this.responses.send({ case: 'cancel', value: {} });
    this.end(failure);
  }
}

/** The wire has 0 for none, and 32 bits are more than enough. */
function wireMs(timeoutMs: number | undefined): number {
  return timeoutMs === undefined ? 0 : Math.min(Math.max(1, Math.ceil(timeoutMs)), 2 ** 31 - 1);
}
