import type { BatchWriter } from './batch-writer.ts';
import { SendCredit } from './credit.ts';
import { frameOf } from './frames.ts';

/** The side of a call that sends messages, as fast as its peer takes them. */
export class MessageSender {
  readonly credit = new SendCredit();
  readonly #callId: number;
  readonly #writer: BatchWriter;

  constructor(callId: number, writer: BatchWriter) {
    this.#callId = callId;
    this.#writer = writer;
  }

  /** Sends all messages and their end. Stops early, without an end, when `signal` is aborted: the call is over then. */
  async sendAll(messages: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const release = () => this.credit.release();
    signal.addEventListener('abort', release, { once: true });
    try {
      for await (const message of messages) {
        if (signal.aborted) return;
        this.credit.spend(message);
        this.#writer.send(frameOf(this.#callId, { case: 'message', value: message }));
        await this.credit.available;
        if (signal.aborted) return;
      }
      if (!signal.aborted) this.#writer.send(frameOf(this.#callId, { case: undefined }, true));
    } finally {
      signal.removeEventListener('abort', release);
    }
  }
}
