import { ConnectionError, errorCode, frameFlag, frameHeadBytes, frameType } from './protocol.ts';

/** A frame other than DATA, whole. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  /** A view of what was read. */
  readonly payload: Buffer;
}

export interface FrameReceiver {
  onFrame(frame: Frame): void;
  /** A frame of DATA begins. `length` is all that it takes of the windows. */
  onDataBegin(streamId: number, length: number): void;
  /** A part of its data, as it comes: a view of what was read. */
  onData(part: Buffer): void;
  onDataEnd(streamId: number, isLast: boolean): void;
}

export interface FrameReaderOptions {
  /** As told in the settings. */
  readonly maxFrameBytes: number;
  /** Frames other than DATA are put together, so they are held to this. */
  readonly maxControlBytes: number;
}

/** Cuts what comes over a connection into frames, however it was split on its way. Data is passed on as it comes, without a copy. */
export class FrameReader {
  readonly #receiver: FrameReceiver;
  readonly #options: FrameReaderOptions;
  readonly #head = Buffer.alloc(frameHeadBytes);
  #headLength = 0;
  #part: Part = 'head';
  /** Bytes of this part that have not come yet. */
  #left = 0;
  #paddingBytes = 0;
  #type = 0;
  #flags = 0;
  #streamId = 0;
  /** What has come of a payload that is put together. */
  #payload: Buffer | undefined;

  constructor(receiver: FrameReceiver, options: FrameReaderOptions) {
    this.#receiver = receiver;
    this.#options = options;
  }

  /** @throws ConnectionError, and whatever the receiver throws. Nothing may be read after it. */
  read(bytes: Buffer): void {
    let offset = 0;
    while (offset < bytes.length) {
      offset = this.#part === 'head' ? this.#readHead(bytes, offset) : this.#readPart(bytes, offset);
    }
  }

  #readHead(bytes: Buffer, offset: number): number {
    if (this.#headLength === 0 && bytes.length - offset >= frameHeadBytes) {
      this.#begin(bytes, offset);
      return offset + frameHeadBytes;
    }
    const copied = bytes.copy(this.#head, this.#headLength, offset);
    this.#headLength += copied;
    if (this.#headLength === frameHeadBytes) {
      this.#headLength = 0;
      this.#begin(this.#head, 0);
    }
    return offset + copied;
  }

  #begin(bytes: Buffer, offset: number): void {
    const length = bytes.readUIntBE(offset, 3);
    this.#type = bytes[offset + 3] ?? 0;
    this.#flags = bytes[offset + 4] ?? 0;
    this.#streamId = bytes.readUInt32BE(offset + 5) & 0x7fff_ffff;
    if (length > this.#options.maxFrameBytes) throw tooLarge();
    if (this.#type === frameType.data) return this.#beginData(length);
    if (this.#type > frameType.continuation) return this.#enter('ignored', length);
    if (length > this.#options.maxControlBytes) throw tooLarge();
    this.#enter('payload', length);
  }

  #beginData(length: number): void {
    this.#paddingBytes = 0;
    this.#receiver.onDataBegin(this.#streamId, length);
    if ((this.#flags & frameFlag.padded) === 0) return this.#enter('data', length);
    if (length === 0) throw tooLarge();
    this.#paddingBytes = length - 1;
    this.#enter('padding length', 1);
  }

  /** Goes on with a part of this frame; past it, if it is empty. */
  #enter(part: Exclude<Part, 'head'>, length: number): void {
    this.#part = part;
    this.#left = length;
    if (length === 0) this.#leave(nothing);
  }

  #readPart(bytes: Buffer, offset: number): number {
    const end = Math.min(bytes.length, offset + this.#left);
    const part = bytes.subarray(offset, end);
    this.#left -= part.length;
    if (this.#part === 'data') this.#receiver.onData(part);
    else if (this.#part === 'payload') this.#gather(part);
    if (this.#left === 0) this.#leave(part);
    return end;
  }

  #gather(part: Buffer): void {
    if (this.#payload === undefined && this.#left === 0) this.#payload = part;
    else this.#payload = Buffer.concat(this.#payload === undefined ? [part] : [this.#payload, part]);
  }

  /** A part is complete. `last` are the last bytes of it. */
  #leave(last: Buffer): void {
    const part = this.#part;
    this.#part = 'head';
    if (part === 'padding length') this.#onPaddingLength(last[0] ?? 0);
    else if (part === 'data' && this.#paddingBytes > 0) this.#enter('padding', this.#paddingBytes);
    else if (part === 'data' || part === 'padding') this.#onDataEnd();
    else if (part === 'payload') this.#onPayload();
    else this.#receiver.onFrame({ type: this.#type, flags: this.#flags, streamId: this.#streamId, payload: nothing });
  }

  #onPaddingLength(paddingBytes: number): void {
    const dataBytes = this.#paddingBytes - paddingBytes;
    if (dataBytes < 0) throw new ConnectionError(errorCode.protocolError, 'there is more padding than frame');
    this.#paddingBytes = paddingBytes;
    this.#enter('data', dataBytes);
  }

  #onDataEnd(): void {
    this.#receiver.onDataEnd(this.#streamId, (this.#flags & frameFlag.endStream) !== 0);
  }

  #onPayload(): void {
    const payload = this.#payload ?? nothing;
    this.#payload = undefined;
    this.#receiver.onFrame({ type: this.#type, flags: this.#flags, streamId: this.#streamId, payload });
  }
}

/** Where in a frame the reader is. Payloads of unknown frames are ignored. */
type Part = 'head' | 'padding length' | 'data' | 'padding' | 'payload' | 'ignored';

const nothing = Buffer.alloc(0);

function tooLarge(): ConnectionError {
  return new ConnectionError(errorCode.frameSizeError, 'a frame has not the size that it may have');
}
