import { type AnswerEnding, type AnswerReader, brokenStream } from '@gateway/adapter-kit';
import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
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
    this.#parser = new SseParser({
      takesBlock: (text, start, end) => this.#events.readPlainDelta(text, start, end),
      onEvent: (event) => this.#events.read(event),
    });
  }

  get head(): AnswerReader['head'] {
    return this.#answer.head;
  }

  push(bytes: Uint8Array): void {
    if (this.ending !== undefined) return;
    try {
      this.#parser.push(bytes);
    } catch {
      // An event over the size limit leaves the parser of no use.
      this.#events.fail(brokenStream());
    }
  }

  end(): void {
    if (this.ending === undefined) this.#parser.end();
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

  get reportedUsage(): ReportedUsage | undefined {
    return this.#events.reportedUsage;
  }

  get producedCharacters(): number {
    return this.#answer.producedCharacters + this.#events.thinkingCharacters;
  }

  /** Events, blocks and deltas that were skipped because they are not known. */
  get unknownEvents(): number {
    return this.#events.unknownEvents;
  }
}
