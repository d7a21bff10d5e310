import { windowCost } from './frames.ts';
import type { MultiplexLimits } from './limits.ts';
import { MessageAssembly, ReceiveWindow } from './message-assembly.ts';

/** Where what the caller of a call sends goes. */
export interface RequestSink {
  onPiece(piece: Uint8Array, isLastPiece: boolean): void;
  onEnd(): void;
  abort(reason: Error): void;
}

interface SingleRequestEvents {
  readonly grant: (bytes: number) => void;
  readonly onRequest: (message: Uint8Array) => void;
  readonly onMissing: () => void;
}

/** The one message that a call begins with, when it comes in pieces. */
export class SingleRequest implements RequestSink {
  readonly #events: SingleRequestEvents;
  readonly #window: ReceiveWindow;
  readonly #assembly: MessageAssembly;
  #hasRequest = false;

  constructor({ windowBytes, maxMessageBytes }: MultiplexLimits, events: SingleRequestEvents) {
    this.#events = events;
    this.#window = new ReceiveWindow(windowBytes, events.grant);
    this.#assembly = new MessageAssembly(maxMessageBytes);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    this.#window.onReceived(piece.length);
    if (this.#hasRequest) return;
    const message = this.#assembly.add(piece, isLastPiece);
    if (message === undefined) return this.#window.onTaken(windowCost(piece.length));
    this.#hasRequest = true;
    this.#events.onRequest(message);
  }

  onEnd(): void {
    if (!this.#hasRequest) this.#events.onMissing();
  }

  abort(): void {
    this.#hasRequest = true;
  }
}
