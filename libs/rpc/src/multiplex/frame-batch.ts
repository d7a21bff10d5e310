import { type MessageBytes, MessageInParts } from '../wire/message-in-parts.ts';
import { type OutgoingBatch, roomBeforeBatch } from './batch-transport.ts';
import { frameHeaderBytes } from './frames.ts';

/**
 * Frames on their way into one gRPC message. They are written straight into the bytes that go out, behind room for
 * what precedes them on the wire, so that a frame is no object of its own. Large payloads are copied once, when the
 * length of the whole is known: bytes that grow step by step press the garbage collector with what they leave behind.
 */
export class FrameBatch {
  #bytes: Buffer;
  #end = room;
  /** What stands before `#bytes`: frames, and large payloads as they were given. */
  #before: Uint8Array[] | undefined;
  #beforeLength = 0;

  constructor(expectedBytes: number) {
    this.#bytes = Buffer.allocUnsafe(Math.max(smallestBatch, expectedBytes) + room);
  }

  /** Bytes of frames so far. */
  get length(): number {
    return this.#beforeLength + this.#end - room;
  }

  /** Adds a frame. Its payload must not change before the batch has been sent. */
  add(head: number, callId: number, payload: MessageBytes = nothing): void {
    if (payload instanceof MessageInParts) return this.#addParts(head, callId, payload);
    const isLarge = payload.length >= largePayload;
    const start = this.#addHeader(head, callId, payload.length, isLarge ? 0 : payload.length);
    if (isLarge) this.#addBehind(payload);
    else this.#bytes.set(payload, start);
  }

  /** A frame whose payload is one number of four bytes. */
  addNumber(head: number, callId: number, value: number): void {
    const start = this.#addHeader(head, callId, 4, 4);
    this.#bytes.writeUInt32BE(value, start);
  }

  /** The batch as a message of protobuf: OpenRequest or OpenResponse with the field `frames`. Nothing may be added after. */
  toMessage(): OutgoingBatch {
    const { length } = this;
    if (this.#before !== undefined) return this.#joined(this.#before, length);
    const start = room - fieldHeaderBytes(length);
    writeFieldHeader(this.#bytes, start, length);
    return { bytes: this.#bytes.subarray(0, this.#end), start };
  }

  #joined(before: readonly Uint8Array[], length: number): OutgoingBatch {
    const start = roomBeforeBatch;
    const bytes = Buffer.allocUnsafe(start + fieldHeaderBytes(length) + length);
    let end = writeFieldHeader(bytes, start, length);
    for (const part of before) {
      bytes.set(part, end);
      end += part.length;
    }
    this.#bytes.copy(bytes, end, room, this.#end);
    return { bytes, start };
  }

  #addParts(head: number, callId: number, { parts, length }: MessageInParts): void {
    this.#addHeader(head, callId, length, 0);
    for (const part of parts) this.#addBehind(part);
  }

  /** Where the payload begins, for which there is room then. */
  #addHeader(head: number, callId: number, length: number, room: number): number {
    const start = this.#end;
    this.#makeRoom(frameHeaderBytes + room);
    this.#bytes[start] = head;
    this.#bytes.writeUInt32BE(callId, start + 1);
    this.#bytes.writeUInt32BE(length, start + 5);
    return start + frameHeaderBytes;
  }

  #addBehind(payload: Uint8Array): void {
    this.#before ??= [];
    this.#before.push(this.#bytes.subarray(room, this.#end), payload);
    this.#beforeLength += this.#end - room + payload.length;
    this.#bytes = Buffer.allocUnsafe(smallestBatch + room);
    this.#end = room;
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

/** What is kept free before frames. */
const room = roomBeforeBatch + fieldHeaderRoom;

const smallestBatch = 512;

/** From here on a payload is copied once instead of into bytes that grow. */
const largePayload = 4 * 1024;

const nothing = new Uint8Array(0);

function fieldHeaderBytes(length: number): number {
  let bytes = 2;
  for (let rest = length; rest > 0x7f; rest >>>= 7) bytes++;
  return bytes;
}

/** Writes tag and length, and says where they end. */
function writeFieldHeader(bytes: Buffer, start: number, length: number): number {
  bytes[start] = framesTag;
  let end = start + 1;
  for (let rest = length; ; rest >>>= 7) {
    if (rest <= 0x7f) {
      bytes[end] = rest;
      return end + 1;
    }
    bytes[end++] = (rest & 0x7f) | 0x80;
  }
}
