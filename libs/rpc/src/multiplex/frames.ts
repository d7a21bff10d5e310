/** The low nibble of a frame's first byte. @see proto/gateway/rpc/v1/multiplex_service.proto */
export const frameKind = {
  hello: 1,
  open: 2,
  message: 3,
  end: 4,
  fail: 5,
  cancel: 6,
  credit: 7,
  ping: 8,
  pong: 9,
  goAway: 10,
  abort: 11,
} as const;

/** Flags of a message frame. */
export const frameFlag = { lastPiece: 0x10, noneFollows: 0x20 } as const;

/** One byte of kind and flags, four of call id, four of length. */
export const frameHeaderBytes = 9;

/** Largest piece of a message that a frame may carry: a body's usual 256 KiB, with what stands around them. */
export const maxPieceBytes = 272 * 1024;

/** What one frame takes from the window of its call. Headers count, so that a flood of empty messages is bounded too. */
export function windowCost(payloadBytes: number): number {
  return frameHeaderBytes + payloadBytes;
}

/** The peer did what the protocol forbids. The text says what; it ends the stream, and every call on it. */
export class ProtocolViolation extends Error {
  override readonly name = 'ProtocolViolation';
}

/** Takes the frames of a batch, in order. The payload is a view of the batch. */
export interface FrameReceiver {
  onFrame(head: number, callId: number, payload: Buffer): void;
}

/** Hands each frame of a batch to the receiver. Batches hold whole frames. */
export function readFrames(batch: Buffer, receiver: FrameReceiver): void {
  let offset = 0;
  while (offset < batch.length) {
    const start = offset + frameHeaderBytes;
    if (start > batch.length) throw new ProtocolViolation('a frame ends within its header');
    const end = start + batch.readUInt32BE(offset + 5);
    if (end > batch.length) throw new ProtocolViolation('a frame is longer than its batch');
    receiver.onFrame(batch.readUInt8(offset), batch.readUInt32BE(offset + 1), batch.subarray(start, end));
    offset = end;
  }
}
