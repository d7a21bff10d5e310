import { type AnswerEnding, type AnswerReader, brokenStream } from '@gateway/adapter-kit';
import type { ChatAnswer, TokenUsage } from '@gateway/chat';
import { SseParser } from '@gateway/sse';
import { EventReader } from './event-reader.ts';

/** Reads a Messages stream and writes a chat answer, streamed or whole. */
export class ChatAnswerReader implements AnswerReader {
  readonly #answer: ChatAnswer;
  readonly #events: EventReader;
  readonly #parser: SseParser;

  constructor(answer: ChatAnswer) {
    this.#answer = answer;
    this.#events = new EventReader(answer);
    this.#parser = new SseParser({ onEvent: (event) => this.#events.read(event) });
  }

  get head(): AnswerReader['head'] {
    return this.#answer.head;
  }

  push(bytes: Uint8Array): void {
    this.#failOnFault(() => this.#parser.push(bytes));
  }

  end(): void {
    this.#failOnFault(() => this.#parser.end());
    this.#events.fail(brokenStream());
  }

  take(): Uint8Array {
    return this.#answer.take();
  }

  get hasContent(): boolean {
    return this.#answer.hasContent;
  }

  get ending(): AnswerEnding | undefined {
    return this.#events.ending;
  }

  get reportedUsage(): TokenUsage | undefined {
    return this.#events.reportedUsage;
  }

  get producedCharacters(): number {
    return this.#answer.producedCharacters + this.#events.thinkingCharacters;
  }

  /** Events, blocks and deltas that were skipped because they are not known. */
  get unknownEvents(): number {
    return this.#events.unknownEvents;
  }

  /** An event over the size limit leaves the parser of no use. */
  #failOnFault(parse: () => void): void {
    if (this.ending !== undefined) return;
    try {
      parse();
    } catch {
      this.#events.fail(brokenStream());
    }
  }
}
