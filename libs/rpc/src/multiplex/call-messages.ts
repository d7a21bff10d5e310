import type { Frame } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import type { BatchWriter } from './batch-writer.ts';

/** How many bytes of messages may wait at the receiver of a call, per direction, before its sender pauses. */
export const windowBytes = 1024 * 1024;

/** What a frame has in it. */
export type Content = Frame['content'];

/** One frame of a call. `isLast`: no message follows from this side. */
export function frameOf(callId: number, content: Content, isLast = false): Frame {
  return { $typeName: 'gateway.rpc.v1.Frame', callId, isLast, content };
}

/**
 * The messages of one call, both ways. They are sent as fast as the peer takes them; one message may go beyond the credit. The
 * pace at which the received ones are read, by iterating, gives the peer its credit.
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
  /** Resolves with the next change of what is above. */
  #change = Promise.withResolvers<void>();

  constructor(callId: number, writer: BatchWriter) {
    this.#callId = callId;
    this.#writer = writer;
  }

  send(content: Content, isLast = false): void {
    this.#writer.send(frameOf(this.#callId, content, isLast));
  }

  /** Resolves when the next message may follow, and when the call is closed. */
  async sendMessage(message: Uint8Array, isLast = false): Promise<void> {
    this.#creditBytes -= costOf(message);
    this.send({ case: 'message', value: message }, isLast);
    while (this.#creditBytes <= 0 && !this.#isClosed && !isLast) await this.#change.promise;
  }

  sendEnd(): void {
    this.send({ case: undefined }, true);
  }

  /** Takes a frame of the peer. False when the peer goes beyond its credit by more than one message. */
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

  /** The call is over. A failure is thrown to the reader, after the messages before it. */
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

  /** In large steps: a grant is a frame. */
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

/** A message counts its length, and something for itself, so that empty messages are bounded too. */
function costOf(message: Uint8Array): number {
  return message.length + 16;
}
