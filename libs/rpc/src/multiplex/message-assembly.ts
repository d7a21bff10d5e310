import { maxPieceBytes, ProtocolViolation, windowCost } from './frames.ts';

/** What the receiver of a call still allows its sender to send, and when it says so. */
export class ReceiveWindow {
  readonly #size: number;
  readonly #grant: (bytes: number) => void;
  #left: number;
  #taken = 0;

  constructor(size: number, grant: (bytes: number) => void) {
    this.#size = size;
    this.#left = size;
    this.#grant = grant;
  }

  onReceived(pieceBytes: number): void {
    if (this.#left <= 0) throw new ProtocolViolation('a call sent beyond its window');
    this.#left -= windowCost(pieceBytes);
  }

  /** So much of what was received takes no room any more. Told to the sender in large steps. */
  onTaken(cost: number): void {
    this.#taken += cost;
    if (this.#taken < this.#size / 2) return;
    const granted = this.#taken;
    this.#taken = 0;
    this.#left += granted;
    this.#grant(granted);
  }
}

/** Puts the pieces of one call's messages together. */
export class MessageAssembly {
  readonly #maxBytes: number;
  #pieces: Uint8Array[] | undefined;
  #size = 0;

  constructor(maxMessageBytes: number) {
    this.#maxBytes = maxMessageBytes;
  }

  /** The message that this piece completes. */
  add(piece: Uint8Array, isLast: boolean): Uint8Array | undefined {
    this.#size += piece.length;
    checkSizes(piece.length, this.#size, this.#maxBytes);
    if (isLast) return this.#complete(piece);
    this.#pieces ??= [];
    this.#pieces.push(withoutItsBatch(piece));
    return undefined;
  }

  #complete(piece: Uint8Array): Uint8Array {
    this.#size = 0;
    if (this.#pieces === undefined) return piece;
    const message = Buffer.concat([...this.#pieces, piece]);
    this.#pieces = undefined;
    return message;
  }
}

/** A message that came in one piece. */
export function wholeMessage(piece: Uint8Array, maxMessageBytes: number): Uint8Array {
  checkSizes(piece.length, piece.length, maxMessageBytes);
  return piece;
}

function checkSizes(pieceBytes: number, messageBytes: number, maxMessageBytes: number): void {
  if (pieceBytes > maxPieceBytes) throw new ProtocolViolation('a piece is larger than pieces may be');
  if (messageBytes > maxMessageBytes) throw new ProtocolViolation(`a message is longer than ${maxMessageBytes} bytes`);
}

/** Bytes to be kept for a while: on their own when they would hold on to a batch far larger than themselves. */
export function withoutItsBatch(bytes: Uint8Array): Uint8Array {
  return 2 * bytes.byteLength < bytes.buffer.byteLength ? Buffer.from(bytes) : bytes;
}
