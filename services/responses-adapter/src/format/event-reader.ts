import { type AnswerEnding, brokenStream, type QuotaWindow, type UpstreamFailure } from '@gateway/adapter-kit';
import { type ChatAnswerSink, type ReportedUsage, wholeUsage } from '@gateway/chat';
import type { SseEvent } from '@gateway/sse';
import type {
  ArgumentsDelta,
  ArgumentsDone,
  ItemAdded,
  ItemDone,
  OutputItem,
  ProviderEvent,
  ReasoningDelta,
  ResponseEnded,
  TextDelta,
  TextDone,
} from './event-types.ts';
import { type AnsweredStatus, mapFinishReason } from './map-finish-reason.ts';
import { mapStreamError } from './map-stream-error.ts';
import { MessageWriter } from './message-writer.ts';
import { parseEventData } from './parse-event.ts';
import { readProviderError } from './provider-error.ts';
import { readPlainDelta } from './read-plain-delta.ts';
import { ToldWindows } from './told-windows.ts';
import { ToolCallWriter } from './tool-call-writer.ts';

export interface EventReaderOptions {
  readonly sink: ChatAnswerSink;
  /** True when the client asked for a JSON answer. */
  readonly wantsJson: boolean;
  /** Epoch milliseconds from which resets that are durations count. */
  readonly nowMs: number;
}

/**
 * Reads the events of one response into a chat answer. What is streamed is written at once; what only a later event
 * tells (a part, an item or the response as a whole) is written then, and nothing is written twice.
 */
export class EventReader {
  readonly #sink: ChatAnswerSink;
  readonly #messages: MessageWriter;
  readonly #toolCalls: ToolCallWriter;
  readonly #nowMs: number;
  #latestIndex = -1;
  #reasoningCharacters = 0;
  readonly #windows: ToldWindows;

  constructor({ sink, wantsJson, nowMs }: EventReaderOptions) {
    this.#sink = sink;
    this.#messages = new MessageWriter(sink, wantsJson);
    this.#toolCalls = new ToolCallWriter(sink);
    this.#nowMs = nowMs;
    this.#windows = new ToldWindows(nowMs);
  }

  /** How the response ended; undefined while it goes on. */
  ending: AnswerEnding | undefined;

  /** What the provider reported last. */
  usage: ReportedUsage | undefined;

  /** Events of types that nobody here knows; they are skipped. */
  unknownEvents = 0;

  /** The quotas that events told of. */
  get quotas(): readonly QuotaWindow[] {
    return this.#windows.all;
  }

  /** Characters of text, refusals, reasoning and tool arguments that came so far. */
  get producedCharacters(): number {
    return this.#messages.producedCharacters + this.#toolCalls.producedCharacters + this.#reasoningCharacters;
  }

  /** Takes the next event. After the ending, events are skipped. Never throws on what the provider sends. */
  read({ event: name, data }: SseEvent): void {
    if (this.ending !== undefined) return;
    const parsed = parseEventData(data, name);
    if (parsed.kind === 'known') this.#on(parsed.event);
    else if (parsed.kind === 'unknown') this.unknownEvents += 1;
    else if (parsed.kind === 'malformed') this.fail(brokenStream());
  }

  /** Reads a block of lines if it is a delta as providers usually write them. False: it is to be read as an event. */
  readPlainDelta(block: string, start: number, end: number): boolean {
    if (this.ending !== undefined) return true;
    const delta = readPlainDelta(block, start, end);
    if (delta === undefined) return false;
    this.#on(delta);
    return true;
  }

  /** No event follows. A response that has not ended by then is broken: half an answer is not an answer. */
  end(): void {
    if (this.ending === undefined) this.fail(brokenStream());
  }

  fail(failure: UpstreamFailure): void {
    this.ending = { kind: 'failed', failure };
  }

  #on(event: ProviderEvent): void {
    switch (event.kind) {
      case 'item-added':
        this.#onItemAdded(event);
        break;
      case 'item-done':
        this.#onItemDone(event);
        break;
      case 'text-delta':
        this.#onTextDelta(event);
        break;
      case 'text-done':
        this.#onTextDone(event);
        break;
      case 'arguments-delta':
        this.#onArgumentsDelta(event);
        break;
      case 'arguments-done':
        this.#onArgumentsDone(event);
        break;
      case 'reasoning-delta':
        this.#onReasoningDelta(event);
        break;
      case 'rate-limits':
        this.#windows.onRateLimits(event);
        break;
      case 'response-ended':
        this.#onResponseEnded(event);
        break;
      case 'error':
        this.#onError(event);
        break;
      default:
        event satisfies never;
    }
  }

  #onItemAdded({ outputIndex, item }: ItemAdded): void {
    const index = this.#at(outputIndex ?? this.#latestIndex + 1);
    if (item.type === 'message') this.#messages.begin(index, item.phase);
    if (item.type === 'function_call') this.#toolCalls.begin(index, item);
  }

  #onItemDone({ outputIndex, item }: ItemDone): void {
    const index = this.#at(outputIndex);
    if (item.type === 'message') this.#messages.complete(index, item);
    if (item.type === 'function_call') this.#toolCalls.complete(index, item);
  }

  #onTextDelta({ outputIndex, contentIndex, part }: TextDelta): void {
    this.#messages.delta(this.#at(outputIndex), contentIndex, part);
  }

  #onTextDone({ outputIndex, contentIndex, part }: TextDone): void {
    this.#messages.completePart(this.#at(outputIndex), contentIndex, part);
  }

  #onArgumentsDelta({ outputIndex, delta, deltaJson }: ArgumentsDelta): void {
    this.#toolCalls.delta(this.#at(outputIndex), delta, deltaJson);
  }

  #onArgumentsDone(event: ArgumentsDone): void {
    this.#toolCalls.completeArguments(this.#at(event.outputIndex), event.arguments);
  }

  #onReasoningDelta({ delta }: ReasoningDelta): void {
    this.#reasoningCharacters += delta.length;
  }

  #onResponseEnded(event: ResponseEnded): void {
    this.usage = event.usage;
    if (event.status === 'failed') this.#onError(event);
    else if (event.status === 'cancelled') this.fail(brokenStream());
    else this.#onAnswered(event, event.status);
  }

  #onAnswered({ output, incompleteReason }: ResponseEnded, status: AnsweredStatus): void {
    this.#writeWhatNoEventTold(output);
    this.#messages.finish();
    const { hasCalls: hasToolCalls, hasNamelessCalls } = this.#toolCalls;
    if (status === 'completed' && hasNamelessCalls) {
      this.fail(brokenStream());
    } else {
      this.#sink.finish(mapFinishReason({ status, incompleteReason, hasToolCalls }), wholeUsage(this.usage));
      this.ending = { kind: 'finished' };
    }
  }

  /**
   * The response's own list of items, where it is filled. Its positions need not be output indexes, so that calls are
   * known by their ids, and messages are taken only when no event told of any.
   */
  #writeWhatNoEventTold(output: readonly OutputItem[]): void {
    const hadText = this.#messages.hasText;
    const firstFreeIndex = this.#latestIndex + 1;
    output.forEach((item, position) => {
      if (item.type === 'function_call') this.#toolCalls.completeById(item);
      if (item.type === 'message' && !hadText) this.#messages.complete(firstFreeIndex + position, item);
    });
  }

  #onError({ error }: { readonly error: unknown }): void {
    this.fail(mapStreamError(readProviderError(error, this.#nowMs), this.#windows.exhaustedUntilMs));
  }

  /** The item that an event is about; the latest one when it does not say. */
  #at(outputIndex: number | undefined): number {
    this.#latestIndex = outputIndex ?? Math.max(this.#latestIndex, 0);
    return this.#latestIndex;
  }
}
