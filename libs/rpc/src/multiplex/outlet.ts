import type { MessageBytes } from '../wire/message-in-parts.ts';
import { frameFlag, frameKind, ProtocolViolation, windowCost } from './frames.ts';
import type { Outbox, PieceSource } from './outbox.ts';

/** The sending half of one call: its messages go out as far as the receiver's window and the network allow. */
export class Outlet implements PieceSource {
  readonly callId: number;
  protected readonly outbox: Outbox;
  #credit: number;
  #waiting: Waiting[] = nothingWaits;
  #queued = false;
  #drained: PromiseWithResolvers<void> | undefined;

  /** `credit` is the receiver's window. */
  constructor(outbox: Outbox, callId: number, credit: number) {
    this.outbox = outbox;
    this.callId = callId;
    this.#credit = credit;
  }

  /** Sends a message. A promise means: wait for it before sending another. */
  send(message: MessageBytes, isLast: boolean): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#mayLeaveAtOnce(message)) {
      this.#add(message, isLast ? frameFlag.lastPiece | frameFlag.noneFollows : frameFlag.lastPiece);
      return undefined;
    }
    if (this.#waiting === nothingWaits) this.#waiting = [];
    this.#waiting.push({ message, isLast, sent: 0 });
    this.#queue();
    this.#drained ??= Promise.withResolvers<void>();
    return this.#drained.promise;
  }

  /** No message follows. */
  finish(): void {
    const last = this.#waiting.at(-1);
    if (last === undefined) this.outbox.add(frameKind.end, this.callId);
    else last.isLast = true;
  }

  /** The receiver has made room. */
  addCredit(bytes: number): void {
    this.#credit += bytes;
    if (this.#credit > largestCredit) throw new ProtocolViolation('a window grew beyond any message');
    this.#queue();
  }

  /** Tells the other side that so many bytes of what it sent have been taken. */
  grant(bytes: number): void {
    this.outbox.addNumber(frameKind.credit, this.callId, bytes);
  }

  /** Drops what waits; whoever waits for it goes on, and finds that the call has ended. */
  close(): void {
    this.#waiting = nothingWaits;
    this.#drained?.resolve();
  }

  writePiece(): boolean {
    this.#queued = false;
    const waiting = this.#waiting[0];
    if (waiting === undefined || this.#credit <= 0) return false;
    this.#writePieceOf(waiting);
    if (this.#waiting.length === 0) this.#onDrained();
    this.#queued = this.#waiting.length > 0 && this.#credit > 0;
    return this.#queued;
  }

  #writePieceOf(waiting: Waiting): void {
    const { message, isLast, sent } = waiting;
    const end = Math.min(message.length, sent + this.outbox.limits.pieceBytes);
    waiting.sent = end;
    if (end < message.length) return this.#add(message.subarray(sent, end), 0);
    this.#waiting.shift();
    this.#add(message.subarray(sent, end), isLast ? frameFlag.lastPiece | frameFlag.noneFollows : frameFlag.lastPiece);
  }

  #mayLeaveAtOnce(message: MessageBytes): boolean {
    return this.#credit > 0 && message.length <= this.outbox.limits.pieceBytes && this.outbox.hasRoom;
  }

  #add(piece: MessageBytes, flags: number): void {
    this.#credit -= windowCost(piece.length);
    this.outbox.add(frameKind.message | flags, this.callId, piece);
  }

  #queue(): void {
    if (this.#queued || this.#waiting.length === 0 || this.#credit <= 0) return;
    this.#queued = true;
    this.outbox.queue(this);
  }

  #onDrained(): void {
    const drained = this.#drained;
    this.#drained = undefined;
    drained?.resolve();
  }
}

interface Waiting {
  readonly message: MessageBytes;
  isLast: boolean;
  /** Bytes that have left. */
  sent: number;
}

// Most calls never wait: they share this.
const nothingWaits: Waiting[] = [];

const largestCredit = 2 ** 31;
