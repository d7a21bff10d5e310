import { type AnswerEnding, brokenStream, type UpstreamFailure } from '@gateway/adapter-kit';
import { type ChatAnswerSink, type ReportedUsage, wholeUsage } from '@gateway/chat';
import { type JsonObject, parseJson } from '@gateway/json';
import type { SseEvent } from '@gateway/sse';
import { convertUsage, nothingReported, replaceUsage } from './convert-usage.ts';
import type {
  ContentBlockStart,
  ContentBlockStop,
  ErrorEvent,
  InputJsonDelta,
  MessageDelta,
  MessageStart,
  ProviderEvent,
  ReportedCounts,
  TextDelta,
  ThinkingDelta,
  ToolUseContentBlock,
} from './event-types.ts';
import { mapFinishReason } from './map-finish-reason.ts';
import { mapStreamError } from './map-stream-error.ts';
import { parseProviderEvent } from './parse-event.ts';
import { readPlainDelta } from './read-plain-delta.ts';
import { rememberingTexts } from './remembering-texts.ts';

/**
 * Tells a chat answer from the events of a Messages stream: one method per event, each writing what it brings into the
 * sink. Thinking, and blocks and events that chat has no place for, stay behind.
 */
export class EventReader {
  readonly #sink: ChatAnswerSink;
  /** Blocks that have begun and not ended, by their index. */
  readonly #openBlocks = new Map<number, OpenBlock>();
  #toolCallCount = 0;
  #hasBegun = false;
  #stopReason: string | undefined;
  #usage = nothingReported;
  #reportedUsage: ReportedUsage | undefined;
  #ending: AnswerEnding | undefined;
  #thinkingCharacters = 0;
  #unknownEvents = 0;

  constructor(sink: ChatAnswerSink) {
    this.#sink = sink;
  }

  /** How the answer ended; undefined while it goes on. What comes afterwards is not read. */
  get ending(): AnswerEnding | undefined {
    return this.#ending;
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#reportedUsage;
  }

  get thinkingCharacters(): number {
    return this.#thinkingCharacters;
  }

  /** Events, blocks and deltas that were skipped because they are not known. */
  get unknownEvents(): number {
    return this.#unknownEvents;
  }

  /** Reads the next event. Never throws: what can't be read fails the answer. */
  read({ event, data }: SseEvent): void {
    if (this.#ending !== undefined || saysNothing(data)) return;
    const parsed = readEvent(`${event}\n${data}`);
    if (parsed.kind === 'known') this.#on(parsed.event);
    else if (parsed.kind === 'malformed') this.fail(brokenStream());
    else if (parsed.kind === 'unknown') this.#unknownEvents += 1;
  }

  /** Reads a block of lines if it is a delta as providers usually write them. False: it is to be read as an event. */
  readPlainDelta(text: string, start: number, end: number): boolean {
    if (this.#ending !== undefined) return true;
    const delta = readPlainDelta(text, start, end);
    if (delta === undefined) return false;
    this.#on(delta);
    return true;
  }

  /** Ends the answer with a failure, unless it has ended already. */
  fail(failure: UpstreamFailure): void {
    this.#ending ??= { kind: 'failed', failure };
  }

  #on(event: ProviderEvent): void {
    switch (event.kind) {
      case 'message-start':
        this.#onMessageStart(event);
        break;
      case 'content-block-start':
        this.#onContentBlockStart(event);
        break;
      case 'text-delta':
        this.#onTextDelta(event);
        break;
      case 'input-json-delta':
        this.#onInputJsonDelta(event);
        break;
      case 'thinking-delta':
        this.#onThinkingDelta(event);
        break;
      case 'content-block-stop':
        this.#onContentBlockStop(event);
        break;
      case 'message-delta':
        this.#onMessageDelta(event);
        break;
      case 'message-stop':
        this.#onMessageStop();
        break;
      case 'error':
        this.#onError(event);
        break;
    }
  }

  #onMessageStart({ usage }: MessageStart): void {
    this.#hasBegun = true;
    this.#onUsage(usage);
  }

  #onUsage(usage: ReportedCounts): void {
    this.#usage = replaceUsage(this.#usage, usage);
    this.#reportedUsage = convertUsage(this.#usage);
  }

  #onContentBlockStart({ index, block }: ContentBlockStart): void {
    // Some providers never stop a block: the next one in its place ends it.
    this.#endBlock(index);
    if (block.type === 'tool_use') {
      this.#beginToolCall(index, block);
      return;
    }
    this.#openBlocks.set(index, { type: block.type });
    if (block.type === 'text') this.#sink.text(block.text);
    else if (!block.isKnown) this.#unknownEvents += 1;
  }

  /** Call indexes of chat are dense from 0, whatever blocks stand between the calls. */
  #beginToolCall(index: number, { id, name, input }: ToolUseContentBlock): void {
    const callIndex = this.#toolCallCount++;
    this.#openBlocks.set(index, { type: 'tool_use', callIndex, input, hasArguments: false });
    this.#sink.toolCall({ index: callIndex, id, name });
  }

  #onTextDelta({ index, text, textJson }: TextDelta): void {
    if (this.#openBlocks.get(index)?.type !== 'other') this.#sink.text(text, textJson);
  }

  #onInputJsonDelta({ index, json, pieceJson }: InputJsonDelta): void {
    const block = this.#openBlocks.get(index);
    if (block?.type !== 'tool_use' || json === '') return;
    block.hasArguments = true;
    this.#sink.toolArguments(block.callIndex, json, pieceJson);
  }

  #onThinkingDelta({ thinking }: ThinkingDelta): void {
    this.#thinkingCharacters += thinking.length;
  }

  #onContentBlockStop({ index }: ContentBlockStop): void {
    this.#endBlock(index);
  }

  #endBlock(index: number): void {
    const block = this.#openBlocks.get(index);
    this.#openBlocks.delete(index);
    if (block?.type === 'tool_use') this.#completeArguments(block);
  }

  /** A call without arguments streams none: clients need an object all the same. */
  #completeArguments({ callIndex, input, hasArguments }: OpenToolCall): void {
    if (!hasArguments) this.#sink.toolArguments(callIndex, JSON.stringify(input));
  }

  #onMessageDelta({ stopReason, usage }: MessageDelta): void {
    this.#stopReason = stopReason ?? this.#stopReason;
    this.#onUsage(usage);
  }

  #onMessageStop(): void {
    if (!this.#hasBegun) {
      this.fail(brokenStream());
      return;
    }
    for (const block of this.#openBlocks.values()) if (block.type === 'tool_use') this.#completeArguments(block);
    this.#sink.finish(mapFinishReason(this.#stopReason, this.#toolCallCount > 0), wholeUsage(this.reportedUsage));
    this.#ending = { kind: 'finished' };
  }

  /** May come first, right after the 200: nothing has been said then, and another attempt can be made. */
  #onError({ error }: ErrorEvent): void {
    this.fail(mapStreamError(error));
  }
}

/** The name of an event, on a line of its own, and its data. */
const readEvent = rememberingTexts((text) => {
  const nameEnd = text.indexOf('\n');
  return parseProviderEvent(parseJson(text.slice(nameEnd + 1)), text.slice(0, nameEnd));
});

/** Empty data, and the end marker of another format that some providers send out of habit. Either may be padded. */
function saysNothing(data: string): boolean {
  const text = data.trim();
  return text === '' || text === '[DONE]';
}

type OpenBlock = OpenToolCall | { readonly type: 'text' | 'other' };

interface OpenToolCall {
  readonly type: 'tool_use';
  readonly callIndex: number;
  readonly input: JsonObject;
  hasArguments: boolean;
}
