import { type ErrorCode, frameFlag, frameHeadBytes, frameType, settingBytes } from './protocol.ts';

/** Frames as they go out. */
export function frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  writeFrameHead(bytes, 0, { length: payload.length, type, flags, streamId });
  payload.copy(bytes, frameHeadBytes);
  return bytes;
}

export interface FrameHead {
  readonly length: number;
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
}

export function writeFrameHead(bytes: Buffer, offset: number, { length, type, flags, streamId }: FrameHead): void {
  bytes.writeUIntBE(length, offset, 3);
  bytes[offset + 3] = type;
  bytes[offset + 4] = flags;
  bytes.writeUInt32BE(streamId, offset + 5);
}

export function settingsFrame(settings: readonly (readonly [identifier: number, value: number])[]): Buffer {
  const payload = Buffer.allocUnsafe(settings.length * settingBytes);
  for (const [index, [identifier, value]] of settings.entries()) {
    payload.writeUInt16BE(identifier, index * settingBytes);
    payload.writeUInt32BE(value, index * settingBytes + 2);
  }
  return frame(frameType.settings, 0, 0, payload);
}

export const settingsAckFrame = frame(frameType.settings, frameFlag.ack, 0, Buffer.alloc(0));

export const pingFrame = frame(frameType.ping, 0, 0, Buffer.alloc(8));

export function pingAckFrame(payload: Buffer): Buffer {
  return frame(frameType.ping, frameFlag.ack, 0, payload);
}

export function windowUpdateFrame(streamId: number, bytes: number): Buffer {
  return frame(frameType.windowUpdate, 0, streamId, number(bytes));
}

export function resetStreamFrame(streamId: number, code: ErrorCode): Buffer {
  return frame(frameType.resetStream, 0, streamId, number(code));
}

export function goAwayFrame(lastStreamId: number, code: ErrorCode, words: string): Buffer {
  return frame(frameType.goAway, 0, 0, Buffer.concat([number(lastStreamId), number(code), Buffer.from(words)]));
}

/** A block that fits into one frame, as all of ours do. */
export function headersFrame(streamId: number, block: Buffer, isLast: boolean): Buffer {
  return frame(frameType.headers, frameFlag.endHeaders | (isLast ? frameFlag.endStream : 0), streamId, block);
}

export function endOfDataFrame(streamId: number): Buffer {
  return frame(frameType.data, frameFlag.endStream, streamId, Buffer.alloc(0));
}

function number(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}
