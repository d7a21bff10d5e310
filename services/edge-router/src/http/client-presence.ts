/** Is told, at most once, that the client of a request has left. */
export interface LeaveListener {
  onClientLeft(): void;
}

/**
 * Whether the client of a request is still there. In place of an AbortSignal, which costs more than most of what a request does:
 * one is made only for whoever needs one.
 */
export class ClientPresence {
  #hasLeft = false;
  #hasStalled = false;
  #listener: LeaveListener | undefined;
  #controller: AbortController | undefined;

  /** True from the moment when the connection closed before the answer was out. */
  get hasLeft(): boolean {
    return this.#hasLeft;
  }

  /** True when it left because it was cut off: it took nothing of the answer for too long. */
  get hasStalled(): boolean {
    return this.#hasStalled;
  }

  /** Aborted when the client has left. Made when it is first read. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#hasLeft) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Names who is told when the client leaves: one at a time, in place of the one before. */
  tell(listener: LeaveListener): void {
    this.#listener = listener;
  }

  /** The client is gone. @param hasStalled it was cut off */
  leave(hasStalled = false): void {
    if (this.#hasLeft) return;
    this.#hasLeft = true;
    this.#hasStalled = hasStalled;
    this.#controller?.abort();
    this.#listener?.onClientLeft();
  }
}
