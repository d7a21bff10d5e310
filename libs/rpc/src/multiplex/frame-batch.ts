import { frameHeaderBytes } from './frames.ts';

/**
 * Frames on their way into one gRPC message. They are written straight into the bytes that go out, behind room for the
 * one protobuf field that holds them, so that neither a frame nor the batch is an object of its own or copied again.
 */
export class FrameBatch {
  #bytes: Buffer;
  #end = fieldHeaderRoom;

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(smallestBatch, expectedBytes) + fieldHeaderRoom);
  }

  /** Bytes of frames so far. */
  get length(): number {
    return this.#end - fieldHeaderRoom;
  }

  add(head: number, callId: number, payload: Uint8Array = nothing): void {
    const start = this.#end;
    this.#makeRoom(frameHeaderBytes + payload.length);
    this.#bytes[start] = head;
    this.#bytes.writeUInt32BE(callId, start + 1);
    this.#bytes.writeUInt32BE(payload.length, start + 5);
    this.#bytes.set(payload, start + frameHeaderBytes);
  }

  /** A frame whose payload is one number of four bytes. */
  addNumber(head: number, callId: number, value: number): void {
    const start = this.#end;
    this.#makeRoom(frameHeaderBytes + 4);
    this.#bytes[start] = head;
    this.#bytes.writeUInt32BE(callId, start + 1);
    this.#bytes.writeUInt32BE(4, start + 5);
    this.#bytes.writeUInt32BE(value, start + frameHeaderBytes);
  }

  /** The batch as a message of protobuf: OpenRequest or OpenResponse with the field `frames`. Nothing may be added after. */
  toMessage(): Buffer {
    const header = [framesTag, ...varint(this.length)];
    const start = fieldHeaderRoom - header.length;
    this.#bytes.set(header, start);
    return this.#bytes.subarray(start, this.#end);
  }

  #makeRoom(length: number): void {
    this.#end += length;
    if (this.#end <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#end, 2 * this.#bytes.length));
    this.#bytes.copy(larger, 0, 0, this.#end - length);
    this.#bytes = larger;
  }
}

/** The frames in a message of protobuf, as a view of its bytes. Undefined when it holds anything but frames. */
export function framesOf(message: Buffer): Buffer | undefined {
  if (message.length === 0) return message;
  if (message[0] !== framesTag) return undefined;
  let length = 0;
  for (let index = 1; index < fieldHeaderRoom; index++) {
    const byte = message[index] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * (index - 1));
    if (byte < 0x80) return message.length === index + 1 + length ? message.subarray(index + 1) : undefined;
  }
  return undefined;
}

/** Field 1, length-delimited. */
const framesTag = 0x0a;

/** Room for the tag and a length of up to five bytes. */
const fieldHeaderRoom = 6;

const smallestBatch = 512;

const nothing = new Uint8Array(0);

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}
