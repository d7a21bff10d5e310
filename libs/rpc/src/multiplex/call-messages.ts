import type { Frame } from '@gateway/proto/rpc/v2/multiplex_service_pb.js';
import type { BatchWriter } from './batch-writer.ts';

/**
 * How many bytes of messages may wait at the receiver of a call, in each direction, before the
 * sender pauses.
 */
export const windowBytes = 1024 * 1024;

/** The content of a frame. */
export type Content = Frame['content'];

/** One frame of a call. `isLast`: this side sends no further message. */
export function frameOf(callId: number, content: Content, isLast = false): Frame {
  return { $typeName: 'gateway.rpc.v2.Frame', callId, isLast, content };
}

/**
 * The messages of one call in both directions. They are sent as fast as the peer accepts them; one
 * message may exceed the credit. Reading the received messages, by iteration, grants the peer
 * further credit.
 */
export class CallMessages implements AsyncIterable<Uint8Array> {
  readonly #callId: number;
  readonly #writer: BatchWriter;
  readonly #received: Uint8Array[] = [];
  #creditBytes = windowBytes;
  #waitingBytes = 0;
  #takenBytes = 0;
  #isClosed = false;
  #hasReceivedAll = false;
  #failure: unknown;
  /** Resolves when any of the fields above changes. */
  #change = Promise.withResolvers<void>();

  constructor(callId: number, writer: BatchWriter) {
    this.#callId = callId;
    this.#writer = writer;
  }

  send(content: Content, isLast = false): void {
    this.#writer.send(frameOf(this.#callId, content, isLast));
  }

  /** Resolves when the next message may be sent, and when the call is closed. */
  async sendMessage(message: Uint8Array, isLast = false): Promise<void> {
    this.#creditBytes -= costOf(message);
    this.send({ case: 'message', value: message }, isLast);
    while (this.#creditBytes <= 0 && !this.#isClosed && !isLast) await this.#change.promise;
  }

  sendEnd(): void {
    this.send({ case: undefined }, true);
  }

  /**
   * Takes a frame from the peer. False when the peer exceeds its credit by more than one message.
   */
  onFrame({ content, isLast }: Frame): boolean {
    if (content.case === 'creditBytes') this.#creditBytes += content.value;
    if (content.case === 'message' && !this.#hasReceivedAll) {
      if (this.#waitingBytes > windowBytes) return false;
      this.#waitingBytes += costOf(content.value);
      this.#received.push(content.value);
    }
    this.#hasReceivedAll ||= isLast;
    this.#announce();
    return true;
  }

  /** Closes the call. The reader receives all earlier messages before a failure is thrown. */
  close(failure?: unknown): void {
    this.#isClosed = true;
    if (!this.#hasReceivedAll) this.#failure = failure;
    this.#hasReceivedAll = true;
    this.#announce();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    for (;;) {
      const message = this.#received.shift();
      if (message !== undefined) {
        this.#grantCredit(message);
        yield message;
      } else if (!this.#hasReceivedAll) await this.#change.promise;
      else if (this.#failure !== undefined) throw this.#failure;
      else return undefined;
    }
  }

  /** Grants credit in large steps, because each grant is a frame. */
  #grantCredit(message: Uint8Array): void {
    this.#waitingBytes -= costOf(message);
    this.#takenBytes += costOf(message);
    if (this.#takenBytes < windowBytes / 2 || this.#hasReceivedAll) return;
    this.send({ case: 'creditBytes', value: this.#takenBytes });
    this.#takenBytes = 0;
  }

  #announce(): void {
    this.#change.resolve();
    this.#change = Promise.withResolvers();
  }
}

/** A message costs its length plus a constant, so that empty messages are bounded too. */
function costOf(message: Uint8Array): number {
  return message.length + 16;
}
