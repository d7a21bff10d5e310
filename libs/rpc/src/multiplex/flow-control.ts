import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Frame, FrameSchema } from '@gateway/proto/rpc/v1/multiplex_service_pb.js';
import type { BatchWriter } from './batch-writer.ts';

/** How many bytes of messages may wait at the receiver of a call, per direction, before its sender pauses. */
export const windowBytes = 1024 * 1024;

type Content = NonNullable<Exclude<MessageInitShape<typeof FrameSchema>, Frame>['content']>;

/** One frame of a call. `isLast`: no message follows from this side. */
export function frameOf(callId: number, content: Content, isLast = false): Frame {
  return create(FrameSchema, { callId, content, isLast });
}

/** The side of a call that sends messages, as fast as its peer takes them. One message may go beyond the credit. */
export class MessageSender {
  readonly #callId: number;
  readonly #writer: BatchWriter;
  #creditBytes = windowBytes;
  #resume: (() => void) | undefined;

  constructor(callId: number, writer: BatchWriter) {
    this.#callId = callId;
    this.#writer = writer;
  }

  addCredit(bytes: number): void {
    this.#creditBytes += bytes;
    if (this.#creditBytes > 0) this.#resume?.();
  }

  /** Sends all messages and their end. Stops early, without an end, when `signal` is aborted: the call is over then. */
  async sendAll(messages: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#resume?.(), { once: true });
    for await (const message of messages) {
      if (signal.aborted) return;
      this.#creditBytes -= costOf(message);
      this.#writer.send(frameOf(this.#callId, { case: 'message', value: message }));
      while (this.#creditBytes <= 0 && !signal.aborted) {
        await new Promise<void>((resolve) => {
          this.#resume = resolve;
        });
      }
    }
    if (!signal.aborted) this.#writer.send(frameOf(this.#callId, { case: undefined }, true));
  }
}

/** The side of a call that receives messages. Its reader's pace gives the sender its credit. */
export class MessageQueue implements AsyncIterable<Uint8Array> {
  readonly #callId: number;
  readonly #writer: BatchWriter;
  readonly #messages: Uint8Array[] = [];
  #arrived: (() => void) | undefined;
  #end: { readonly failure?: unknown } | undefined;
  #waitingBytes = 0;
  #takenBytes = 0;

  constructor(callId: number, writer: BatchWriter) {
    this.#callId = callId;
    this.#writer = writer;
  }

  /** False when the sender goes beyond its credit by more than one message. */
  push(message: Uint8Array): boolean {
    if (this.#end !== undefined) return true;
    if (this.#waitingBytes > windowBytes) return false;
    this.#waitingBytes += costOf(message);
    this.#messages.push(message);
    this.#arrived?.();
    return true;
  }

  /** No message follows. A failure is thrown to the reader, after the messages before it. */
  end(end: { readonly failure?: unknown } = {}): void {
    this.#end ??= end;
    this.#arrived?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, undefined> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) {
        this.#grant(message);
        yield message;
      } else if (this.#end === undefined) {
        await new Promise<void>((resolve) => {
          this.#arrived = resolve;
        });
      } else if ('failure' in this.#end) throw this.#end.failure;
      else return undefined;
    }
  }

  /** In large steps: a grant is a frame. */
  #grant(message: Uint8Array): void {
    this.#waitingBytes -= costOf(message);
    this.#takenBytes += costOf(message);
    if (this.#takenBytes < windowBytes / 2 || this.#end !== undefined) return;
    this.#writer.send(frameOf(this.#callId, { case: 'creditBytes', value: this.#takenBytes }));
    this.#takenBytes = 0;
  }
}

/** A message counts its length, and something for itself, so that empty messages are bounded too. */
function costOf(message: Uint8Array): number {
  return message.length + 16;
}
