/** How many bytes of messages may wait at the receiver of a call, per direction, before its sender pauses. */
export const windowBytes = 1024 * 1024;

/** What a message counts: its length, and something for itself, so that empty messages are bounded too. */
export function costOf(message: Uint8Array): number {
  return message.length + 16;
}

/** What the sender of messages may still send. One message may go beyond it. */
export class SendCredit {
  #bytes = windowBytes;
  #waiting: PromiseWithResolvers<void> | undefined;

  spend(message: Uint8Array): void {
    this.#bytes -= costOf(message);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > 0) this.release();
  }

  /** Resolves when there is credit, or when the call ends. */
  get available(): Promise<void> | undefined {
    if (this.#bytes > 0) return undefined;
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  /** Lets a waiting sender go on, to see that its call has ended. */
  release(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }
}
