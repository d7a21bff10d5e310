import { ConnectionError, errorCode } from './protocol.ts';

/** What stands before each message of gRPC: whether it is compressed (1 byte), and its length (4 bytes). */
export const messagePrefixBytes = 5;

/** Puts the messages of a stream together. One that came in one piece is passed on as a view of it; others are copied once. */
export class MessageReader {
  readonly #maxMessageBytes: number;
  readonly #onMessage: (message: Buffer) => void;
  readonly #prefix = Buffer.alloc(messagePrefixBytes);
  #prefixLength = 0;
  #message: Buffer | undefined;
  #messageLength = 0;

  constructor(maxMessageBytes: number, onMessage: (message: Buffer) => void) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#onMessage = onMessage;
  }

  /** Whether what was read ends within a message. */
  get isWithinMessage(): boolean {
    return this.#prefixLength > 0 || this.#message !== undefined;
  }

  /** @throws ConnectionError */
  read(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      offset =
        this.#message === undefined ? this.#readPrefix(bytes, offset) : this.#readRest(this.#message, bytes, offset);
    }
  }

  #readPrefix(bytes: Buffer, offset: number): number {
    if (this.#prefixLength === 0 && bytes.length - offset >= messagePrefixBytes) {
      return this.#begin(this.#lengthIn(bytes, offset), bytes, offset + messagePrefixBytes);
    }
    const copied = bytes.copy(this.#prefix, this.#prefixLength, offset);
    this.#prefixLength += copied;
    if (this.#prefixLength < messagePrefixBytes) return offset + copied;
    this.#prefixLength = 0;
    return this.#begin(this.#lengthIn(this.#prefix, 0), bytes, offset + copied);
  }

  #lengthIn(bytes: Buffer, offset: number): number {
    if (bytes[offset] !== 0) throw new ConnectionError(errorCode.protocolError, 'a message is compressed');
    const length = bytes.readUInt32BE(offset + 1);
    if (length > this.#maxMessageBytes) throw new ConnectionError(errorCode.enhanceYourCalm, 'a message is too long');
    return length;
  }

  #begin(length: number, bytes: Buffer, offset: number): number {
    const end = offset + length;
    if (end <= bytes.length) {
      this.#onMessage(bytes.subarray(offset, end));
      return end;
    }
    this.#message = Buffer.allocUnsafeSlow(length);
    this.#messageLength = bytes.copy(this.#message, 0, offset);
    return bytes.length;
  }

  #readRest(message: Buffer, bytes: Buffer, offset: number): number {
    const copied = bytes.copy(message, this.#messageLength, offset);
    this.#messageLength += copied;
    if (this.#messageLength === message.length) {
      this.#message = undefined;
      this.#onMessage(message);
    }
    return offset + copied;
  }
}
