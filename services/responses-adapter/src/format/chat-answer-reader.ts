import {
  type AnswerEnding,
  type AnswerReader,
  answerTooLarge,
  brokenStream,
  type QuotaWindow,
} from '@gateway/adapter-kit';
import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
import { SseOverflowError, SseParser } from '@gateway/sse';
import { EventReader, type EventReaderOptions } from './event-reader.ts';

export interface ChatAnswerReaderOptions extends Omit<EventReaderOptions, 'sink'> {
  readonly answer: ChatAnswer;
  /** How large an answer the provider's last event may repeat. */
  readonly maxAnswerBytes: number;
}

/** Reads the provider's event stream, however it is split, into a chat answer. */
export class ChatAnswerReader implements AnswerReader {
  readonly head: AnswerReader['head'];
  readonly #answer: ChatAnswer;
  readonly #events: EventReader;
  readonly #parser: SseParser;

  constructor({ answer, maxAnswerBytes, ...options }: ChatAnswerReaderOptions) {
    this.head = answer.head;
    this.#answer = answer;
    this.#events = new EventReader({ ...options, sink: answer });
    this.#parser = new SseParser({
      maxEventBytes: maxRepeatedRequestBytes + maxAnswerBytes,
      takesBlock: (block, start, end) => this.#events.readPlainDelta(block, start, end),
      onEvent: (event) => this.#events.read(event),
    });
  }

  get hasContent(): boolean {
    return this.#answer.hasContent;
  }

  get ending(): AnswerEnding | undefined {
    return this.#answer.isTooLarge ? tooLarge : this.#events.ending;
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#events.usage;
  }

  get quotas(): readonly QuotaWindow[] {
    return this.#events.quotas;
  }

  get producedCharacters(): number {
    return this.#events.producedCharacters;
  }

  /** Events of types that nobody here knows; they were skipped. */
  get unknownEvents(): number {
    return this.#events.unknownEvents;
  }

  /** After the ending nothing is read. An event that is too large ends it. */
  push(bytes: Uint8Array): void {
    if (this.ending !== undefined) return;
    try {
      this.#parser.push(bytes);
    } catch (thrown) {
      if (!(thrown instanceof SseOverflowError)) throw thrown;
      this.#events.fail(this.#answer.isStreamed ? brokenStream() : answerTooLarge());
    }
  }

  end(): void {
    if (this.#events.ending === undefined) this.#parser.end();
    this.#events.end();
  }

  take(): Uint8Array {
    return this.#answer.take();
  }
}

const tooLarge: AnswerEnding = { kind: 'failed', failure: answerTooLarge() };

/** The first and the last event repeat the request's instructions and tools, which have up to 16 MiB as JSON. */
const maxRepeatedRequestBytes = 32 * 1024 * 1024;
