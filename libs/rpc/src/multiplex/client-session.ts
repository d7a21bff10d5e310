import { RpcError } from '../rpc-error.ts';
import type { MessageBytes } from '../wire/message-in-parts.ts';
import type { BatchTransport } from './batch-transport.ts';
import { decodeFailure, fromCallFailure } from './call-failure.ts';
import type { CallLine, ClientCall } from './client-call.ts';
import { frameFlag, frameKind, ProtocolViolation } from './frames.ts';
import type { Outbox } from './outbox.ts';
import { Outlet } from './outlet.ts';
import { decodeCredit, encodeOpening } from './payloads.ts';
import { Session, type SessionOptions } from './session.ts';

/** Who keeps the session. */
export interface SessionKeeper {
  /** The server has greeted: calls may be started. */
  onReady(): void;
  /** No more calls may be started; those that run go on. Not told before onReady. */
  onDraining(): void;
  /** The stream is gone. Calls on it have been told. */
  onOver(reason: RpcError): void;
}

/** The client's end of a stream of calls. */
export class ClientSession extends Session {
  readonly #keeper: SessionKeeper;
  readonly #lines = new Map<number, ClientLine>();
  #lastId = 0;
  #isDraining = false;

  constructor(transport: BatchTransport, options: SessionOptions, keeper: SessionKeeper) {
    super(transport, options);
    this.#keeper = keeper;
  }

  /** Calls that run on this stream. */
  get inFlight(): number {
    return this.#lines.size;
  }

  /** Opens a call on this stream. */
  start(call: ClientCall): void {
    const callId = ++this.#lastId;
    const line = new ClientLine(this.outbox, callId, this.peer.windowBytes, call, this);
    this.#lines.set(callId, line);
    this.outbox.addWithDeparture(frameKind.open, callId, encodeOpening(call), call);
    call.bind(line);
    if (callId === largestId) this.drain();
  }

  /** Whether the server takes messages of this size. */
  takesMessage(bytes: number): boolean {
    return bytes <= this.peer.maxMessageBytes;
  }

  /** Starts no more calls, and ends the stream with the last one that runs. */
  drain(): void {
    if (this.isOver || this.#isDraining) return;
    this.#isDraining = true;
    this.#endWhenIdle();
    this.#keeper.onDraining();
  }

  /** The server takes too long to greet. */
  abandon(): void {
    this.breakOff(new RpcError('unavailable', 'The server did not answer in time.'));
  }

  /** A call on this stream has ended. */
  forget(callId: number): void {
    this.#lines.delete(callId);
    if (this.#isDraining) this.#endWhenIdle();
  }

  onEnd(): void {
    this.breakOff(new RpcError('unavailable', 'The server ended the stream of calls.'));
  }

  protected onReady(): void {
    this.#keeper.onReady();
  }

  protected onGoAway(): void {
    this.drain();
  }

  protected onCallFrame(kind: number, flags: number, callId: number, payload: Buffer): void {
    const line = this.#lines.get(callId);
    if (line === undefined) return this.#onFrameOfEndedCall(callId);
    switch (kind) {
      case frameKind.message:
        line.call.sink.onPiece(payload, (flags & frameFlag.lastPiece) !== 0);
        if ((flags & frameFlag.noneFollows) !== 0) this.#onEndOf(line);
        return;
      case frameKind.end:
        return this.#onEndOf(line);
      case frameKind.fail:
        return this.#onFailureOf(line, payload);
      case frameKind.credit:
        return line.addCredit(decodeCredit(payload));
      default:
        throw new ProtocolViolation(`a frame of kind ${kind} for a call of the client's`);
    }
  }

  protected onBatchRead(): void {}

  protected onOver(reason: RpcError): void {
    this.#isDraining = true;
    this.#keeper.onOver(reason);
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    for (const line of lines) {
      line.close();
      line.call.onLost(reason);
    }
  }

  #onEndOf(line: ClientLine): void {
    line.close();
    this.forget(line.callId);
    line.call.onEnd();
  }

  #onFailureOf(line: ClientLine, payload: Buffer): void {
    const failure = fromCallFailure(decodeFailure(payload));
    line.close();
    this.forget(line.callId);
    line.call.onFailure(failure);
  }

  #onFrameOfEndedCall(callId: number): void {
    if (callId > this.#lastId) throw new ProtocolViolation('a frame of a call that was never opened');
  }

  #endWhenIdle(): void {
    if (this.#lines.size === 0 && !this.isOver) this.endInOrder();
  }
}

/** A call's place on the stream. */
class ClientLine extends Outlet implements CallLine {
  readonly call: ClientCall;
  readonly #session: ClientSession;

  constructor(outbox: Outbox, callId: number, credit: number, call: ClientCall, session: ClientSession) {
    super(outbox, callId, credit);
    this.call = call;
    this.#session = session;
  }

  override send(message: MessageBytes, isLast: boolean): Promise<void> | undefined {
    if (this.#session.takesMessage(message.length)) return super.send(message, isLast);
    this.call.onFailure(
      new RpcError('internal', `A message of ${message.length} bytes is more than the server takes.`),
    );
    this.cancel();
    return undefined;
  }

  cancel(): void {
    this.close();
    this.outbox.add(frameKind.cancel, this.callId);
    this.#session.forget(this.callId);
  }
}

/** Ids have 31 bits; a stream that has used them up is followed by a new one. */
const largestId = 2 ** 31 - 1;
