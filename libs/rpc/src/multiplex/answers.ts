import { RpcError } from '../rpc-error.ts';
import type { AnswerSink } from './client-call.ts';
import { windowCost } from './frames.ts';
import { MessageAssembly, ReceiveWindow } from './message-assembly.ts';

export interface SingleAnswerOptions<T> {
  readonly windowBytes: number;
  readonly maxMessageBytes: number;
  readonly grant: (bytes: number) => void;
  readonly decode: (message: Uint8Array) => T;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
}

/** The one message that answers a call. It counts once the call has succeeded. */
export class SingleAnswer<T> implements AnswerSink {
  readonly #options: SingleAnswerOptions<T>;
  readonly #window: ReceiveWindow;
  readonly #assembly: MessageAssembly;
  #message: Uint8Array | undefined;

  constructor(options: SingleAnswerOptions<T>) {
    this.#options = options;
    this.#window = new ReceiveWindow(options.windowBytes, options.grant);
    this.#assembly = new MessageAssembly(options.maxMessageBytes);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    this.#window.onReceived(piece.length);
    this.#message ??= this.#assembly.add(piece, isLastPiece);
    // Somebody waits for the answer, so nothing of it is kept back.
    if (!isLastPiece) this.#window.onTaken(windowCost(piece.length));
  }

  onEnd(): void {
    if (this.#message === undefined)
      return this.onFailure(new RpcError('internal', 'The call ended without an answer.'));
    try {
      this.#options.resolve(this.#options.decode(this.#message));
    } catch (thrown) {
      this.onFailure(new RpcError('internal', 'The answer could not be read.', { cause: thrown }));
    }
  }

  onFailure(failure: Error): void {
    this.#options.reject(failure);
  }

  abort(failure: Error): void {
    this.#options.reject(failure);
  }
}
