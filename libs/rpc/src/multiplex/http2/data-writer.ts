import type { OutgoingBatch } from '../batch-transport.ts';
import { writeFrameHead } from './frames.ts';
import { messagePrefixBytes } from './message-reader.ts';
import {
  ConnectionError,
  defaultMaxFrameBytes,
  defaultWindowBytes,
  errorCode,
  frameHeadBytes,
  frameType,
  largestWindowBytes,
  theStream,
} from './protocol.ts';

/** Where frames go out, in order. */
export interface FrameSink {
  write(bytes: Buffer, written?: () => void): void;
  cork(): void;
  uncork(): void;
}

/** Sends messages as frames of DATA, as far as the peer's windows allow. */
export class DataWriter {
  readonly #sink: FrameSink;
  readonly #waiting: WaitingMessage[] = [];
  #connectionWindow = defaultWindowBytes;
  #streamWindow = defaultWindowBytes;
  #initialWindow = defaultWindowBytes;
  #maxFrameBytes = defaultMaxFrameBytes;
  /** Goes out behind all messages. */
  #last: { readonly frame: Buffer; readonly written: () => void } | undefined;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** `sent` is called when the message has been handed to the operating system. */
  send({ bytes, start }: OutgoingBatch, sent: () => void): void {
    const begin = start - messagePrefixBytes;
    bytes[begin] = 0;
    bytes.writeUInt32BE(bytes.length - start, begin + 1);
    const length = bytes.length - begin;
    if (this.#waiting.length === 0 && length <= this.#room()) return this.#sendAtOnce(bytes, begin, sent);
    this.#waiting.push({ rest: bytes.subarray(begin), sent });
    this.#sendWaiting();
  }

  /** Sends a frame that ends the stream, once all messages have left. */
  finish(frame: Buffer, written: () => void): void {
    this.#last = { frame, written };
    this.#sendWaiting();
  }

  onWindowUpdate(streamId: number, bytes: number): void {
    if (bytes === 0) throw new ConnectionError(errorCode.protocolError, 'a window was opened by nothing');
    if (streamId === 0) this.#connectionWindow = opened(this.#connectionWindow, bytes);
    else this.#streamWindow = opened(this.#streamWindow, bytes);
    this.#sendWaiting();
  }

  /** The peer has set how large the window of a stream is from the beginning: an open one changes by the difference. */
  onInitialWindow(bytes: number): void {
    this.#streamWindow = opened(this.#streamWindow, bytes - this.#initialWindow);
    this.#initialWindow = bytes;
    this.#sendWaiting();
  }

  onMaxFrameBytes(bytes: number): void {
    this.#maxFrameBytes = bytes;
  }

  #room(): number {
    return Math.min(this.#maxFrameBytes, this.#streamWindow, this.#connectionWindow);
  }

  /** Head, prefix and message as one piece of memory, which costs half of what three would. */
  #sendAtOnce(bytes: Buffer, begin: number, sent: () => void): void {
    const length = bytes.length - begin;
    writeFrameHead(bytes, begin - frameHeadBytes, { length, type: frameType.data, flags: 0, streamId: theStream });
    this.#take(length);
    this.#sink.write(bytes.subarray(begin - frameHeadBytes), sent);
  }

  #sendWaiting(): void {
    this.#sink.cork();
    for (let room = this.#room(); room > 0; room = this.#room()) {
      const message = this.#waiting[0];
      if (message === undefined) break;
      this.#sendFrame(message, room);
    }
    if (this.#waiting.length === 0 && this.#last !== undefined) this.#sink.write(this.#last.frame, this.#last.written);
    if (this.#waiting.length === 0) this.#last = undefined;
    this.#sink.uncork();
  }

  #sendFrame(message: WaitingMessage, room: number): void {
    const part = message.rest.subarray(0, room);
    message.rest = message.rest.subarray(part.length);
    const head = Buffer.allocUnsafe(frameHeadBytes);
    writeFrameHead(head, 0, { length: part.length, type: frameType.data, flags: 0, streamId: theStream });
    this.#take(part.length);
    this.#sink.write(head);
    if (message.rest.length > 0) return this.#sink.write(part);
    this.#waiting.shift();
    this.#sink.write(part, message.sent);
  }

  #take(bytes: number): void {
    this.#connectionWindow -= bytes;
    this.#streamWindow -= bytes;
  }
}

interface WaitingMessage {
  /** What has not left yet, behind the prefix. */
  rest: Buffer;
  readonly sent: () => void;
}

function opened(window: number, bytes: number): number {
  if (window + bytes <= largestWindowBytes) return window + bytes;
  throw new ConnectionError(errorCode.flowControlError, 'a window is larger than any may be');
}
