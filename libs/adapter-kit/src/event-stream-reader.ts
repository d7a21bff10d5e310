import { type ChatAnswer, type FinishReason, type ReportedUsage, wholeUsage } from '@gateway/chat';
import { asObject, asString, type JsonObject, JsonScanner, parseJson } from '@gateway/json';
import { EventSplitter, readEvent, SseOverflowError } from '@gateway/sse';
import { answerTooLarge, brokenStream } from './failure/attempt-failure.ts';
import type { AnswerReader, AnswerResult, AttemptFailure, ReasoningState } from './format-definition.ts';
import type { ChatReaderOptions } from './translation/translation.ts';

/**
 * Reads a provider's event stream in arbitrary chunks. The meaning of events is defined by the
 * format's reader.
 */
export abstract class EventStreamReader
  implements Pick<AnswerReader, 'push' | 'end' | 'result' | 'pendingBytes' | 'reasoning'>
{
  readonly #splitter: EventSplitter;
  result: AnswerResult | undefined;
  abstract readonly reasoning: ReasoningState | undefined;

  constructor(maxEventBytes: number) {
    this.#splitter = new EventSplitter({ maxEventBytes, onEvent: (event) => this.onEvent(event) });
  }

  get pendingBytes(): number {
    return this.#splitter.pendingBytes;
  }

  /** Takes the next whole event, also after the result. */
  protected abstract onEvent(event: Buffer): void;
  /** Takes the unterminated rest of the stream; empty if the last event was complete. */
  protected abstract onRest(rest: Buffer): void;

  push(bytes: Uint8Array): void {
    try {
      this.#splitter.push(bytes);
    } catch (thrown) {
      if (!(thrown instanceof SseOverflowError)) throw thrown;
      this.onOverflow();
    }
  }

  /** Half an answer is no answer: without a result the stream is broken. */
  end(): void {
    this.onRest(this.#splitter.end());
    this.fail(brokenStream());
  }

  /** Called when an event is too large. */
  protected onOverflow(): void {
    this.fail(brokenStream());
  }

  /** Ends the answer with a failure, unless it has already ended. */
  protected fail(failure: AttemptFailure): void {
    this.result ??= { kind: 'failed', failure };
  }
}

/**
 * Reads a provider's event stream into a chat answer, streamed or whole. A provider that does not
 * stream may send one JSON object instead.
 */
export abstract class ChatAnswerReader extends EventStreamReader implements AnswerReader {
  protected readonly answer: ChatAnswer;
  abstract readonly reportedUsage: ReportedUsage | undefined;
  abstract readonly producedCharacters: number;
  /** How many unknown events were skipped. */
  unknownEvents = 0;
  /** The bytes of an answer that is one JSON object; undefined while it may be a stream. */
  #object: Uint8Array[] | undefined;
  #objectBytes = 0;
  readonly #scanner = new JsonScanner({ maxTokens: 20_000, maxDepth: 1_024 });
  #hasBegun = false;
  finishReason: FinishReason | undefined;
  answeringModel: string | undefined;

  /** One event may contain the whole answer in addition to the usual content of an event. */
  constructor(answer: ChatAnswer, { maxEventBytes, maxAnswerBytes }: ChatEventBounds) {
    super(maxEventBytes + maxAnswerBytes);
    this.answer = answer;
  }

  override get pendingBytes(): number {
    return super.pendingBytes + this.#objectBytes;
  }

  override push(bytes: Uint8Array): void {
    const read = this.#hasBegun ? bytes : this.#begin(bytes);
    if (this.#object === undefined) return super.push(read);
    if (this.result !== undefined) return;
    this.#object.push(read);
    this.#objectBytes += read.length;
    if (this.#objectBytes > maxObjectBytes || !this.#isScanned(read)) this.fail(brokenStream());
  }

  override end(): void {
    if (this.#object !== undefined && this.result === undefined) {
      const json = asObject(parseJson(Buffer.concat(this.#object).toString()));
      if (json !== undefined) this.readWhole(json);
      this.#limitAnswer();
    }
    super.end();
  }

  /** False when the object is no JSON, or takes too long to parse. */
  #isScanned(bytes: Uint8Array): boolean {
    try {
      this.#scanner.push(bytes);
      return true;
    } catch {
      return false;
    }
  }

  /**
   * No line of an event stream that means anything starts with a brace. Returns the bytes to read:
   * an object's without what comes before it.
   */
  #begin(bytes: Uint8Array): Uint8Array {
    const first = bytes.findIndex((byte) => !blanks.has(byte));
    this.#hasBegun = first >= 0;
    if (bytes[first] !== openBrace) return bytes;
    this.#object = [];
    return bytes.subarray(first);
  }

  /**
   * Writes what an event's data says to the answer. Not called after the result. Never throws on
   * what the provider sends.
   * @param name of its `event:` line
   */
  protected abstract read(json: JsonObject, name: string): void;

  /** The same for an answer that is one JSON object. */
  protected abstract readWhole(json: JsonObject): void;

  /** Ends the answer with the provider's reason. */
  protected finish(reason: FinishReason): void {
    this.finishReason = reason;
    this.answer.finish(reason, wholeUsage(this.reportedUsage, this.producedCharacters));
    this.result = { kind: 'finished' };
  }

  get head(): AnswerReader['head'] {
    return this.answer.head;
  }

  get hasContent(): boolean {
    return this.answer.hasContent;
  }

  take(): Uint8Array {
    return this.answer.take();
  }

  protected override onEvent(event: Buffer): void {
    if (this.result !== undefined) return;
    const { name, data = '' } = readEvent(event);
    // Some providers add whitespace to the data, and end their streams with the marker of the chat
    // format.
    const text = data.trim();
    if (text === '' || text === '[DONE]') return;
    const json = asObject(parseJson(text));
    if (json === undefined) this.fail(brokenStream());
    else this.read(json, name);
    this.#limitAnswer();
  }

  #limitAnswer(): void {
    if (this.answer.isTooLarge) this.result = { kind: 'failed', failure: answerTooLarge() };
  }

  /** The last event needs no blank line. */
  protected override onRest(rest: Buffer): void {
    this.onEvent(rest);
  }

  protected override onOverflow(): void {
    this.fail(this.answer.isStreamed ? brokenStream() : answerTooLarge());
  }
}

/** Far more than a chat answer has; it is parsed at once. */
const maxObjectBytes = 4 * 1024 * 1024;
const openBrace = 0x7b;
/** White space, and the bytes of a byte order mark. */
const blanks: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf]);

type ChatEventBounds = Pick<ChatReaderOptions, 'maxEventBytes' | 'maxAnswerBytes'>;

/**
 * The reasoning of one answer. Providers show its start and its end, and little or nothing in
 * between. How much there was follows from its encrypted form, which arrives at its end.
 */
export class Reasoning {
  #open = 0;
  #hasBegun = false;
  #shownCharacters = 0;
  #encryptedCharacters = 0;

  /** Undefined before it starts. */
  get state(): ReasoningState | undefined {
    if (this.#open > 0) return 'open';
    return this.#hasBegun ? 'over' : undefined;
  }

  /** The visible text is often a summary; then the encrypted form shows more. */
  get producedCharacters(): number {
    return Math.max(this.#shownCharacters, Math.ceil(this.#encryptedCharacters * charactersPerEncryptedOne));
  }

  begin(): void {
    this.#hasBegun = true;
    this.#open += 1;
  }

  shown(text: unknown): void {
    this.#shownCharacters += lengthOf(text);
  }

  encrypted(text: unknown): void {
    this.#encryptedCharacters += lengthOf(text);
  }

  /** Also ends reasoning whose start was not seen. */
  end(): void {
    this.#hasBegun = true;
    this.#open = Math.max(0, this.#open - 1);
  }
}

/**
 * In recorded answers a token of reasoning has about 6.7 characters in encrypted form, and 4 as
 * text.
 */
const charactersPerEncryptedOne = 0.6;

function lengthOf(text: unknown): number {
  return asString(text)?.length ?? 0;
}
