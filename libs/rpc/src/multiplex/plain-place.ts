import { type ChannelCredentials, type ClientDuplexStream, Client as GrpcJsClient, Metadata } from '@grpc/grpc-js';
import { fromServiceError } from '../error-metadata.ts';
import { clientChannelOptions } from '../grpc-options.ts';
import { RpcError } from '../rpc-error.ts';
import { joined, type MessageBytes } from '../wire/message-in-parts.ts';
import type { CallLine, ClientCall } from './client-call.ts';
import { maxPieceBytes, windowCost } from './frames.ts';
import type { Place } from './replica.ts';

export interface PlainPlaceOptions {
  readonly target: string;
  readonly credentials: ChannelCredentials;
  /** What may wait at the reader of an answer. */
  readonly windowBytes: number;
  /** Told when the replica cannot be reached. */
  readonly onUnreachable: (reason: RpcError) => void;
}

/** A replica that is called over plain gRPC, a stream of HTTP/2 for each call. */
export class PlainPlace implements Place {
  readonly #client: GrpcJsClient;
  readonly #options: PlainPlaceOptions;
  #inFlight = 0;

  constructor(options: PlainPlaceOptions) {
    this.#options = options;
    this.#client = new GrpcJsClient(options.target, options.credentials, clientChannelOptions);
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  start(call: ClientCall): void {
    // Whether a method takes or gives one message or many makes no difference on the wire.
    const stream = this.#client.makeBidiStreamRequest<Buffer, Buffer>(
      call.path,
      (message) => message,
      (message) => message,
      new Metadata(),
      call.timeoutMs === 0 ? {} : { deadline: Date.now() + call.timeoutMs },
    );
    this.#inFlight++;
    stream.once('status', () => this.#inFlight--);
    call.bind(new PlainLine(call, stream, this.#options));
    call.onDeparture();
  }

  drain(): void {
    this.#client.close();
  }
}

/** One call over plain gRPC. */
class PlainLine implements CallLine {
  readonly #call: ClientCall;
  readonly #stream: ClientDuplexStream<Buffer, Buffer>;
  readonly #onUnreachable: (reason: RpcError) => void;
  #credit: number;
  /** Received, and beyond what the reader takes for now. */
  #held: Buffer[] = [];
  #hasEnded = false;
  #failure: Error | undefined;

  constructor(call: ClientCall, stream: ClientDuplexStream<Buffer, Buffer>, options: PlainPlaceOptions) {
    this.#call = call;
    this.#stream = stream;
    this.#credit = options.windowBytes;
    this.#onUnreachable = options.onUnreachable;
    stream.on('data', (message: Buffer) => this.#onMessage(message));
    stream.on('error', (thrown: unknown) => {
      this.#failure = fromServiceError(thrown);
    });
    stream.on('end', () => this.#onEnd());
  }

  send(message: MessageBytes, isLast: boolean): Promise<void> | undefined {
    const hasRoom = this.#stream.write(joined(message));
    if (isLast) this.#stream.end();
    return hasRoom ? undefined : drained(this.#stream);
  }

  finish(): void {
    this.#stream.end();
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#handOver();
  }

  cancel(): void {
    this.#stream.cancel();
  }

  #onMessage(message: Buffer): void {
    this.#held.push(message);
    this.#handOver();
  }

  #onEnd(): void {
    this.#hasEnded = true;
    this.#handOver();
  }

  #handOver(): void {
    while (this.#credit > 0) {
      const message = this.#held.shift();
      if (message === undefined) break;
      this.#handOverPieceOf(message);
    }
    if (this.#held.length > 0) this.#stream.pause();
    else if (this.#hasEnded) this.#settle();
    else this.#stream.resume();
  }

  #handOverPieceOf(message: Buffer): void {
    const piece = message.subarray(0, maxPieceBytes);
    const isLast = piece.length === message.length;
    if (!isLast) this.#held.unshift(message.subarray(maxPieceBytes));
    this.#credit -= windowCost(piece.length);
    if (!this.#call.isOver) this.#call.sink.onPiece(piece, isLast);
  }

  #settle(): void {
    if (this.#failure === undefined) return this.#call.onEnd();
    if (this.#failure instanceof RpcError && this.#failure.status === 'unavailable') this.#onUnreachable(this.#failure);
    this.#call.onFailure(this.#failure);
  }
}

function drained(stream: ClientDuplexStream<Buffer, Buffer>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    stream.on('drain', done).on('close', done).on('error', done);
  });
}
