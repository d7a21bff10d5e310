import type { Socket } from 'node:net';
import { maxMessageBytes } from '../../grpc-options.ts';
import type { BatchListener, BatchTransport, OutgoingBatch } from '../batch-transport.ts';
import { framesOf } from '../frame-batch.ts';
import { Connection, type ConnectionLimits, type StreamEvents } from './connection.ts';
import { resetStreamFrame } from './frames.ts';
import type { Headers } from './header-blocks.ts';
import { MessageReader } from './message-reader.ts';
import { ConnectionError, type ErrorCode, errorCode, theStream } from './protocol.ts';

/** One end of a stream of calls on a connection of its own: what both ends do alike. */
export abstract class GrpcStream implements BatchTransport, StreamEvents {
  protected readonly connection: Connection;
  readonly #messages = new MessageReader(maxMessageBytes, (message) => this.#onMessage(message));
  #listener: BatchListener | undefined;
  #peer: 'silent' | 'sending' | 'ended' = 'silent';
  #hasEnded = false;

  constructor(socket: Socket, limits: ConnectionLimits) {
    this.connection = new Connection(socket, limits, this);
  }

  send(batch: OutgoingBatch, sent: () => void): void {
    if (!this.connection.isOver) this.connection.data.send(batch, sent);
  }

  end(): void {
    if (this.#hasEnded || this.connection.isOver) return;
    this.#hasEnded = true;
    this.connection.data.finish(this.lastFrame(), () => this.#leaveWhenEnded());
  }

  destroy(): void {
    this.connection.write(resetStreamFrame(theStream, errorCode.cancel));
    this.connection.leave(errorCode.noError);
  }

  onData(part: Buffer): void {
    this.#requireSending();
    this.#messages.read(part);
  }

  onEnd(): void {
    this.#requireSending();
    if (this.#messages.isWithinMessage) throw violation('a message is cut off');
    this.#peer = 'ended';
    this.#leaveWhenEnded();
    this.#listener?.onEnd();
  }

  onReset(code: number): void {
    this.breakOff(new Error(`The other side gave the stream up with code ${code}.`));
  }

  onLost(cause: Error): void {
    this.#listener?.onBroken(cause);
  }

  abstract onHeaders(headers: Headers): void;
  abstract onOtherStream(streamId: number): void;

  /** The frame that ends this side. */
  protected abstract lastFrame(): Buffer;

  /** Whether the headers that begin the other side have come. */
  protected get hasBegun(): boolean {
    return this.#peer !== 'silent';
  }

  protected tell(listener: BatchListener): void {
    this.#listener = listener;
  }

  /** The other side's headers have come: data may follow. */
  protected begin(): void {
    this.#peer = 'sending';
  }

  /** The stream has failed, with the connection in good order. */
  protected breakOff(cause: Error): void {
    this.connection.leave(errorCode.noError);
    this.onLost(cause);
  }

  #onMessage(message: Buffer): void {
    if (this.connection.isOver) return;
    const frames = framesOf(message);
    if (frames === undefined) throw violation('a batch holds something else than frames');
    this.#listener?.onBatch(frames);
  }

  #requireSending(): void {
    if (this.#peer === 'silent') throw violation('data precedes the headers');
    if (this.#peer === 'ended') throw violation('data follows the end', errorCode.streamClosed);
  }

  #leaveWhenEnded(): void {
    if (this.#hasEnded && this.#peer === 'ended') this.connection.leave(errorCode.noError);
  }
}

export function violation(words: string, code: ErrorCode = errorCode.protocolError): ConnectionError {
  return new ConnectionError(code, words);
}
