import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
import { EventSplitter, readEvent, type SseEvent, SseOverflowError } from '@gateway/sse';
import { answerTooLarge, brokenStream } from './failure/upstream-failure.ts';
import type { AnswerEnding, AnswerReader, QuotaWindow, UpstreamFailure } from './provider-format.ts';

/** Reads the events of one format into a chat answer. After its ending it skips events. */
export interface ChatEventReader
  extends Pick<AnswerReader, 'ending' | 'reportedUsage' | 'quotas' | 'producedCharacters' | 'unknownEvents'> {
  /** Takes the next event. Never throws on what the provider sends. */
  read(event: SseEvent): void;
  /** Ends the answer with a failure, unless it has ended already. */
  fail(failure: UpstreamFailure): void;
}

/** Reads a provider's event stream, however it is split, into a chat answer, streamed or whole. */
export class ChatAnswerReader implements AnswerReader {
  readonly head: AnswerReader['head'];
  readonly #answer: ChatAnswer;
  readonly #events: ChatEventReader;
  readonly #splitter: EventSplitter;

  /** @param events writes to `answer` */
  constructor(answer: ChatAnswer, events: ChatEventReader, maxEventBytes: number) {
    this.head = answer.head;
    this.#answer = answer;
    this.#events = events;
    this.#splitter = new EventSplitter({ maxEventBytes, onEvent: (event) => events.read(readEvent(event)) });
  }

  get hasContent(): boolean {
    return this.#answer.hasContent;
  }

  get ending(): AnswerEnding | undefined {
    return this.#answer.isTooLarge ? { kind: 'failed', failure: answerTooLarge() } : this.#events.ending;
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#events.reportedUsage;
  }

  get quotas(): readonly QuotaWindow[] {
    return this.#events.quotas ?? [];
  }

  get producedCharacters(): number {
    return this.#events.producedCharacters;
  }

  get unknownEvents(): number {
    return this.#events.unknownEvents ?? 0;
  }

  push(bytes: Uint8Array): void {
    if (this.ending !== undefined) return;
    try {
      this.#splitter.push(bytes);
    } catch (thrown) {
      if (!(thrown instanceof SseOverflowError)) throw thrown;
      this.#events.fail(this.#answer.isStreamed ? brokenStream() : answerTooLarge());
    }
  }

  /** The last event needs no blank line. Half an answer is no answer: without an ending the stream is broken. */
  end(): void {
    if (this.ending !== undefined) return;
    this.#events.read(readEvent(this.#splitter.end()));
    this.#events.fail(brokenStream());
  }

  take(): Uint8Array {
    return this.#answer.take();
  }
}
