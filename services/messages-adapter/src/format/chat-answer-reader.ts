import { type AnswerEnding, type AnswerReader, answerTooLarge, brokenStream } from '@gateway/adapter-kit';
import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
import { SseOverflowError, SseParser } from '@gateway/sse';
import { EventReader } from './event-reader.ts';

/** Reads a Messages stream and writes a chat answer, streamed or whole. */
export class ChatAnswerReader implements AnswerReader {
  readonly #answer: ChatAnswer;
  readonly #events: EventReader;
  readonly #parser: SseParser;

  /** @param maxAnswerBytes what an event may have that brings all of an answer */
  constructor(answer: ChatAnswer, maxAnswerBytes: number) {
    this.#answer = answer;
    this.#events = new EventReader(answer);
    this.#parser = new SseParser({
      maxEventBytes: maxOtherBytes + maxAnswerBytes,
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
    } catch (thrown) {
      // An event over the size limit leaves the parser of no use.
      const isTooLarge = thrown instanceof SseOverflowError && !this.#answer.isStreamed;
      this.#events.fail(isTooLarge ? answerTooLarge() : brokenStream());
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
    return this.#answer.isTooLarge ? tooLarge : this.#events.ending;
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

const tooLarge: AnswerEnding = { kind: 'failed', failure: answerTooLarge() };

/** Of blocks that are not part of a chat answer, such as what the provider's own tools found. */
const maxOtherBytes = 4 * 1024 * 1024;
