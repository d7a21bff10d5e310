import type { AdapterContext } from '../adapter-context.ts';
import type { AnswerReader } from '../provider-format.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { UpstreamExchange, UpstreamHead } from '../upstream/upstream-exchange.ts';

export interface AnswerIntakeOptions {
  readonly context: AdapterContext;
  readonly requestId: string;
  /** Size of the client's body. */
  readonly bodyBytes: number;
  readonly exchange: UpstreamExchange;
  readonly head: UpstreamHead;
  readonly answer: AnswerReader;
}

/** Hands a provider's answer to its reader, and bounds what may come before the client has something of it. */
export class AnswerIntake {
  readonly #options: AnswerIntakeOptions;
  #answerBegan = false;
  #heldBytes = 0;

  constructor(options: AnswerIntakeOptions) {
    this.#options = options;
  }

  /** `isHeld`: the client has no head yet. Throws UpstreamError when the answer can't be read, or too much is held. */
  push(bytes: Uint8Array, isHeld: boolean): void {
    const { answer } = this.#options;
    try {
      answer.push(bytes);
    } catch (cause) {
      throw this.#unreadable(cause);
    }
    if (isHeld && answer.ending === undefined) this.#watchHeld(bytes.length);
  }

  /** Nothing follows. Throws UpstreamError when the answer has not ended so. */
  end(): void {
    const { answer } = this.#options;
    if (answer.ending !== undefined) return;
    try {
      answer.end();
    } catch (cause) {
      throw this.#unreadable(cause);
    }
    if (answer.ending === undefined) throw new UpstreamError('malformed', 'The answer ended early.');
  }

  #unreadable(cause: unknown): UpstreamError {
    const { context, requestId } = this.#options;
    context.logger.warn({ requestId, reason: nameOf(cause) }, 'an answer could not be read');
    return new UpstreamError('malformed', 'The answer could not be read.', { cause });
  }

  /**
   * Once the answer has begun, silence is limited instead of the whole time, and what the model writes instead of all bytes: what
   * readers hold is bounded by themselves.
   */
  #watchHeld(bytes: number): void {
    const { context, answer, exchange, head, bodyBytes } = this.#options;
    const { config } = context;
    this.#heldBytes += bytes;
    if (!this.#answerBegan && (answer.hasContent || answer.producedCharacters > 0)) {
      this.#answerBegan = true;
      exchange.limitSilence(config.idleTimeoutMs);
    }
    const isPreamble = !this.#answerBegan && isEventStream(head);
    if (isPreamble && this.#heldBytes > config.maxPreambleBytes + 4 * bodyBytes) {
      throw new UpstreamError('malformed', 'Too much came before the first content.');
    }
    if (!answer.hasContent && answer.producedCharacters > config.maxAnswerBytes) {
      throw new UpstreamError('too_large', 'The answer is too large.');
    }
  }
}

/** Only the name: the text may be the provider's. */
function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown;
}

function isEventStream({ headers }: UpstreamHead): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
}
