import type { OnFault } from '../faults.ts';
import { callCancelled } from '../handler-context.ts';
import { RpcError } from '../rpc-error.ts';
import type { BatchTransport } from './batch-transport.ts';
import { type CallFailure, encodeFailure, unimplemented } from './call-failure.ts';
import { frameFlag, frameKind, ProtocolViolation } from './frames.ts';
import type { Outbox } from './outbox.ts';
import { Outlet } from './outlet.ts';
import { decodeCredit, decodeOpening } from './payloads.ts';
import type { ServedMethod } from './served-methods.ts';
import { type AnswerLine, ServerCall } from './server-call.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ServerSessionOptions extends SessionOptions {
  readonly methods: ReadonlyMap<string, ServedMethod>;
  readonly onFault?: OnFault | undefined;
  /** The stream is gone. */
  readonly onOver?: () => void;
}

/** The server's end of a stream of calls. */
export class ServerSession extends Session {
  readonly #options: ServerSessionOptions;
  readonly #lines = new Map<number, ServerLine>();
  /** Opened by the batch that is being read. */
  #opened: ServerCall[] = [];
  #lastId = 0;
  #hasClientEnded = false;

  constructor(transport: BatchTransport, options: ServerSessionOptions) {
    super(transport, options);
    this.#options = options;
  }

  /** Asks the client to open no more calls here and to leave when the running ones have ended. */
  goAway(): void {
    if (!this.isOver) this.outbox.add(frameKind.goAway, 0);
  }

  onEnd(): void {
    this.#hasClientEnded = true;
    this.#endWhenIdle();
  }

  protected onReady(): void {}

  protected onGoAway(): void {
    throw new ProtocolViolation('a client told its server to go away');
  }

  protected onCallFrame(kind: number, flags: number, callId: number, payload: Buffer): void {
    if (kind === frameKind.open) return this.#onOpening(callId, payload);
    const line = this.#lines.get(callId);
    if (line === undefined) return this.#onFrameOfEndedCall(callId);
    switch (kind) {
      case frameKind.message:
        return onMessage(line.call, flags, payload);
      case frameKind.end:
        return line.call?.onRequestsEnd();
      case frameKind.cancel:
        return line.call?.onCancelled(callCancelled);
      case frameKind.credit:
        return line.addCredit(decodeCredit(payload));
      default:
        throw new ProtocolViolation(`a frame of kind ${kind} for a call of the server's`);
    }
  }

  protected onBatchRead(): void {
    const opened = this.#opened;
    this.#opened = [];
    for (const call of opened) call.onOpened();
  }

  protected onOver(reason: RpcError): void {
    const calls = [...this.#lines.values()];
    for (const { call } of calls) {
      call?.onCancelled(new RpcError('cancelled', 'The caller is gone.', { cause: reason }));
    }
    this.#options.onOver?.();
  }

  #onOpening(callId: number, payload: Buffer): void {
    if (callId <= this.#lastId) throw new ProtocolViolation('an id of a call was used twice');
    this.#lastId = callId;
    const { path, timeoutMs } = decodeOpening(payload);
    const line = new ServerLine(this.outbox, callId, this.peer.windowBytes, () => this.#release(callId));
    const method = this.#options.methods.get(path);
    if (method === undefined) return line.fail(unimplemented(path));
    this.#lines.set(callId, line);
    const call = new ServerCall({
      method,
      timeoutMs,
      line,
      limits: this.limits,
      largestAnswer: this.peer.maxMessageBytes,
      onFault: this.#options.onFault,
    });
    line.call = call;
    this.#opened.push(call);
  }

  #onFrameOfEndedCall(callId: number): void {
    if (callId > this.#lastId) throw new ProtocolViolation('a frame of a call that was never opened');
  }

  #release(callId: number): void {
    this.#lines.delete(callId);
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (!this.#hasClientEnded || this.#lines.size > 0 || this.isOver) return;
    this.endInOrder();
    this.#options.onOver?.();
  }
}

function onMessage(call: ServerCall | undefined, flags: number, payload: Buffer): void {
  call?.onPiece(payload, (flags & frameFlag.lastPiece) !== 0);
  if ((flags & frameFlag.noneFollows) !== 0) call?.onRequestsEnd();
}

/** A call's place on the stream. */
class ServerLine extends Outlet implements AnswerLine {
  call: ServerCall | undefined;
  readonly #onRelease: () => void;

  constructor(outbox: Outbox, callId: number, credit: number, onRelease: () => void) {
    super(outbox, callId, credit);
    this.#onRelease = onRelease;
  }

  fail(failure: CallFailure): void {
    this.close();
    this.outbox.add(frameKind.fail, this.callId, encodeFailure(failure));
  }

  release(): void {
    this.close();
    this.#onRelease();
  }
}
