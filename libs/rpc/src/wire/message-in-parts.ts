/** An encoded message that is sent as several buffers, so that large bytes in it need no copy. They must not change. */
export class MessageInParts {
  readonly parts: readonly Uint8Array[];
  /** Of all parts together, in bytes. */
  readonly length: number;

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts;
    this.length = parts.reduce((sum, part) => sum + part.length, 0);
  }

  subarray(start: number, end: number): MessageInParts {
    const views: Uint8Array[] = [];
    let partStart = 0;
    for (const part of this.parts) {
      const view = part.subarray(Math.max(0, start - partStart), Math.max(0, end - partStart));
      if (view.length > 0) views.push(view);
      partStart += part.length;
    }
    return new MessageInParts(views);
  }
}

/** An encoded message. Its `length` is in bytes, whatever it is made of. */
export type MessageBytes = Uint8Array | MessageInParts;

/** The message as one buffer: a copy when it is in parts. */
export function joined(message: MessageBytes): Buffer {
  if (message instanceof MessageInParts) return Buffer.concat(message.parts);
  return Buffer.from(message.buffer, message.byteOffset, message.byteLength);
}
