import { RpcError } from '../rpc-error.ts';
import type { BatchListener, BatchTransport } from './batch-transport.ts';
import { type FrameReceiver, frameKind, ProtocolViolation, readFrames } from './frames.ts';
import { Heartbeat } from './heartbeat.ts';
import type { MultiplexLimits } from './limits.ts';
import { Outbox } from './outbox.ts';
import { decodeHello, encodeHello, type Hello } from './payloads.ts';

export interface SessionOptions {
  readonly limits: MultiplexLimits;
  /** How long the other side may be silent before it is asked, and then until it is given up. */
  readonly heartbeatMs: number;
}

/**
 * One end of a stream of calls: what both ends do alike. It greets, answers pings, notices silence, and ends the stream
 * with a clear word when the other side breaks the rules.
 */
export abstract class Session implements BatchListener, FrameReceiver {
  protected readonly outbox: Outbox;
  protected readonly limits: MultiplexLimits;
  readonly #transport: BatchTransport;
  readonly #heartbeat: Heartbeat;
  #peer: Hello | undefined;
  #isOver = false;

  constructor(transport: BatchTransport, { limits, heartbeatMs }: SessionOptions) {
    this.#transport = transport;
    this.limits = limits;
    this.outbox = new Outbox(transport, limits);
    this.#heartbeat = new Heartbeat({
      intervalMs: heartbeatMs,
      ping: () => this.outbox.add(frameKind.ping, 0),
      onSilence: () => this.breakOff(new RpcError('unavailable', 'The other side does not answer any more.')),
    });
    this.outbox.add(frameKind.hello, 0, encodeHello(limits));
  }

  onBatch(frames: Buffer): void {
    if (this.#isOver) return;
    this.#heartbeat.onHeard();
    try {
      readFrames(frames, this);
      this.onBatchRead();
    } catch (thrown) {
      this.#onViolation(thrown);
    }
  }

  onFrame(head: number, callId: number, payload: Buffer): void {
    if (this.#isOver) return;
    const kind = head & 0x0f;
    if (this.#peer === undefined && kind !== frameKind.hello && kind !== frameKind.abort) {
      throw new ProtocolViolation('the first frame is not a hello');
    }
    if (callId !== 0) return this.onCallFrame(kind, head & 0xf0, callId, payload);
    switch (kind) {
      case frameKind.hello:
        return this.#onHello(payload);
      case frameKind.ping:
        return this.outbox.add(frameKind.pong, 0);
      case frameKind.pong:
        return undefined;
      case frameKind.goAway:
        return this.onGoAway();
      case frameKind.abort:
        return this.breakOff(new RpcError('internal', `The stream of calls was ended: ${payload.toString()}`));
      default:
        throw new ProtocolViolation(`a frame of kind ${kind} on the stream itself`);
    }
  }

  abstract onEnd(): void;

  onBroken(cause: unknown): void {
    this.breakOff(new RpcError('unavailable', 'The connection was lost.', { cause }));
  }

  protected get isOver(): boolean {
    return this.#isOver;
  }

  /** What the other side said of itself. Known once any other frame has come. */
  protected get peer(): Hello {
    if (this.#peer === undefined) throw new ProtocolViolation('a call before the hello');
    return this.#peer;
  }

  protected abstract onReady(): void;
  protected abstract onGoAway(): void;
  /** All frames of a batch have been taken. */
  protected abstract onBatchRead(): void;
  protected abstract onCallFrame(kind: number, flags: number, callId: number, payload: Buffer): void;
  /** The stream is over, at last; calls that still run fail with the reason. */
  protected abstract onOver(reason: RpcError): void;

  /** Ends the stream in order: what is queued still goes out. */
  protected endInOrder(): void {
    this.#heartbeat[Symbol.dispose]();
    this.outbox.end();
  }

  /** Ends the stream now. */
  protected breakOff(reason: RpcError): void {
    if (this.#isOver) return;
    this.#transport.destroy();
    this.#finish(reason);
  }

  #finish(reason: RpcError): void {
    this.#isOver = true;
    this.#heartbeat[Symbol.dispose]();
    this.outbox.close();
    this.onOver(reason);
  }

  #onHello(payload: Buffer): void {
    if (this.#peer !== undefined) throw new ProtocolViolation('a second hello');
    this.#peer = decodeHello(payload);
    this.onReady();
  }

  #onViolation(thrown: unknown): void {
    const words = thrown instanceof ProtocolViolation ? thrown.message : 'a frame could not be handled';
    this.outbox.add(frameKind.abort, 0, Buffer.from(words));
    this.outbox.flush();
    this.#finish(new RpcError('internal', `The other side broke the protocol: ${words}.`, { cause: thrown }));
    // The last word must arrive before the stream is cut.
    this.#transport.end();
    setTimeout(() => this.#transport.destroy(), lastWordMs).unref();
  }
}

/** How long a peer that broke the rules has to end its side. */
const lastWordMs = 1_000;
