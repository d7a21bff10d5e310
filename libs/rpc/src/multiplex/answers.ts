import { RpcError } from '../rpc-error.ts';
import type { AnswerSink, ClientCall } from './client-call.ts';
import { windowCost } from './frames.ts';
import type { MultiplexLimits } from './limits.ts';
import { MessageAssembly, ReceiveWindow, wholeMessage } from './message-assembly.ts';

/** The one message that answers a call. It counts once the call has succeeded. */
export class SingleAnswer implements AnswerSink {
  readonly #limits: MultiplexLimits;
  readonly #decode: (message: Uint8Array) => object;
  readonly #resolve: (answer: object) => void;
  readonly #reject: (reason: Error) => void;
  #call: ClientCall | undefined;
  /** Of an answer that comes in pieces; nearly all come in one. */
  #pieces: Pieces | undefined;
  #message: Uint8Array | undefined;

  constructor(
    limits: MultiplexLimits,
    decode: (message: Uint8Array) => object,
    resolve: (answer: object) => void,
    reject: (reason: Error) => void,
  ) {
    this.#limits = limits;
    this.#decode = decode;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The call whose answer it is. */
  answers(call: ClientCall): void {
    this.#call = call;
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    if (isLastPiece && this.#pieces === undefined && this.#message === undefined) {
      this.#message = wholeMessage(piece, this.#limits.maxMessageBytes);
    } else this.#onOneOfMany(piece, isLastPiece);
  }

  onEnd(): void {
    if (this.#message === undefined)
      return this.onFailure(new RpcError('internal', 'The call ended without an answer.'));
    try {
      this.#resolve(this.#decode(this.#message));
    } catch (thrown) {
      this.onFailure(new RpcError('internal', 'The answer could not be read.', { cause: thrown }));
    }
  }

  onFailure(failure: Error): void {
    this.#reject(failure);
  }

  abort(failure: Error): void {
    this.#reject(failure);
  }

  #onOneOfMany(piece: Uint8Array, isLastPiece: boolean): void {
    this.#pieces ??= {
      window: new ReceiveWindow(this.#limits.windowBytes, (bytes) => this.#call?.grant(bytes)),
      assembly: new MessageAssembly(this.#limits.maxMessageBytes),
    };
    const { window, assembly } = this.#pieces;
    window.onReceived(piece.length);
    this.#message ??= assembly.add(piece, isLastPiece);
    // Somebody waits for the answer, so nothing of it is kept back.
    if (!isLastPiece) window.onTaken(windowCost(piece.length));
  }
}

interface Pieces {
  readonly window: ReceiveWindow;
  readonly assembly: MessageAssembly;
}
