/** One end of a connected stream of batches, in both directions. */
export interface BatchTransport {
  /** Sends the frames of a batch. `sent` is called when they have left this process, so that more may follow. */
  send(batch: OutgoingBatch, sent: () => void): void;
  /** Nothing will follow. What was sent still arrives, and the other side may go on. */
  end(): void;
  /** Ends both directions now. */
  destroy(): void;
}

/** A message, with room before it in the same memory for what precedes it on the wire. The transport may write there. */
export interface OutgoingBatch {
  readonly bytes: Buffer;
  /** Where the message begins: `roomBeforeBatch` or further on. */
  readonly start: number;
}

/** A frame's head of HTTP/2, and what gRPC puts before a message. */
export const roomBeforeBatch = 14;

/** What the other end does. Nothing is told after `onBroken`, or after both sides have ended. */
export interface BatchListener {
  onBatch(frames: Buffer): void;
  /** The other side sends nothing more. */
  onEnd(): void;
  /** The stream is gone. */
  onBroken(cause: unknown): void;
}
