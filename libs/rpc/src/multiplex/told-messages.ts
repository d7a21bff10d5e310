import { tellEnd, tellFailure, throwUncaught } from '../telling.ts';
import type { AnswerListener, ToldCall } from '../told-answers.ts';
import type { AnswerSink } from './client-call.ts';
import { windowCost } from './frames.ts';
import { MessageAssembly, ReceiveWindow, withoutItsBatch } from './message-assembly.ts';
import type { QueueOptions } from './message-queue.ts';

/**
 * The messages of one call, told as they come. While the listener pauses they wait and count against the window, so that
 * the sender pauses too. Messages that came before the end, or before a failure, are told first.
 */
export class ToldMessages<T> implements AnswerSink, ToldCall {
  readonly #options: QueueOptions<T>;
  readonly #window: ReceiveWindow;
  readonly #assembly: MessageAssembly;
  /** Absent once nothing more is to be told. */
  #listener: AnswerListener<T> | undefined;
  #hasBegun = false;
  #isPaused = false;
  /** What came while the listener paused. */
  #held: Held[] = nothingHeld;
  /** Cost of pieces that came while the listener paused, and whose message is not complete yet. */
  #partCost = 0;
  #end: { readonly failure?: Error } | undefined;

  constructor(options: QueueOptions<T>, listener: AnswerListener<T>) {
    this.#options = options;
    this.#listener = listener;
    this.#window = new ReceiveWindow(options.windowBytes, options.grant);
    this.#assembly = new MessageAssembly(options.maxMessageBytes);
  }

  /** Whoever began the call knows of it from now on. */
  onBegun(): void {
    this.#hasBegun = true;
    if (this.#end !== undefined) queueMicrotask(this.#goOn);
  }

  onPiece(piece: Uint8Array, isLastPiece: boolean): void {
    if (this.#listener === undefined) return;
    this.#window.onReceived(piece.length);
    const message = this.#assembly.add(piece, isLastPiece);
    if (this.#isHeldBack) this.#hold(message, windowCost(piece.length));
    else this.#onPieceWanted(message, windowCost(piece.length));
  }

  onEnd(): void {
    this.#finish({});
  }

  onFailure(failure: Error): void {
    this.#finish({ failure });
  }

  /** Ends the call for its listener at once: what waits is dropped. */
  abort(failure: Error): void {
    this.#held = nothingHeld;
    this.#partCost = 0;
    this.#isPaused = false;
    this.#finish({ failure });
  }

  cancel(): void {
    if (this.#takeListener() !== undefined) this.#options.onLeave();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // What waits is told when whoever resumes has done so: it may be in the middle of an answer.
    queueMicrotask(this.#goOn);
  }

  /** Answers are told in order: none overtakes what is held. */
  get #isHeldBack(): boolean {
    return this.#isPaused || this.#held !== nothingHeld || this.#partCost > 0;
  }

  #hold(message: Uint8Array | undefined, cost: number): void {
    this.#partCost += cost;
    if (message === undefined) return;
    if (this.#held === nothingHeld) this.#held = [];
    this.#held.push({ message: withoutItsBatch(message), cost: this.#partCost });
    this.#partCost = 0;
  }

  #onPieceWanted(message: Uint8Array | undefined, cost: number): void {
    if (message !== undefined) this.#tell(message);
    // A listener that takes messages takes their pieces as they come: one larger than the window would never be complete.
    if (this.#listener !== undefined) this.#window.onTaken(cost);
  }

  readonly #goOn = (): void => {
    while (!this.#isPaused && this.#listener !== undefined) {
      const held = this.#held.shift();
      if (held === undefined) break;
      this.#onHeldWanted(held);
    }
    if (this.#isPaused || this.#listener === undefined) return;
    this.#held = nothingHeld;
    this.#releaseParts();
    if (this.#end !== undefined) this.#tellEnd(this.#end);
  };

  #onHeldWanted({ message, cost }: Held): void {
    this.#tell(message);
    // Once the call has ended its sender has no window any more.
    if (this.#listener !== undefined && this.#end === undefined) this.#window.onTaken(cost);
  }

  #releaseParts(): void {
    const cost = this.#partCost;
    this.#partCost = 0;
    if (cost > 0 && this.#end === undefined) this.#window.onTaken(cost);
  }

  #tell(message: Uint8Array): void {
    try {
      this.#listener?.onAnswer(this.#options.decode(message));
    } catch (thrown) {
      this.#onThrown(thrown);
    }
  }

  /** As when the body of a loop throws: the call is cancelled, and its caller has the reason. */
  #onThrown(thrown: unknown): void {
    const listener = this.#takeListener();
    if (listener === undefined) return throwUncaught(thrown);
    this.#options.onLeave();
    tellFailure(listener, thrown);
  }

  #finish(end: { readonly failure?: Error }): void {
    this.#end = end;
    if (this.#hasBegun && !this.#isHeldBack) this.#tellEnd(end);
  }

  #tellEnd({ failure }: { readonly failure?: Error }): void {
    const listener = this.#takeListener();
    if (listener === undefined) return;
    if (failure === undefined) tellEnd(listener);
    else tellFailure(listener, failure);
  }

  #takeListener(): AnswerListener<T> | undefined {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#held = nothingHeld;
    return listener;
  }
}

interface Held {
  readonly message: Uint8Array;
  readonly cost: number;
}

// Most calls never hold anything back: they share this.
const nothingHeld: Held[] = [];
