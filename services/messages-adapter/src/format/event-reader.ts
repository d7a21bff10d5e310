import { brokenStream, ChatAnswerReader, type ChatReaderOptions, type ReasoningState } from '@gateway/adapter-kit';
import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
import { asArray, asCount, asObject, asString, type JsonObject } from '@gateway/json';
import { AnswerWriter, mapFinishReason } from './answer-writer.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { ThinkingBlocks } from './read-reasoning.ts';
import { UsageReports } from './usage-reports.ts';

/**
 * Reads the events of a Messages stream into a chat answer. It drops thinking, and blocks and
 * events that have no equivalent in chat.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export class EventReader extends ChatAnswerReader {
  readonly #writer: AnswerWriter;
  readonly #usage = new UsageReports();
  readonly #thinking = new ThinkingBlocks();
  #hasBegun = false;
  #stopReason: string | undefined;

  constructor(answer: ChatAnswer, options: ChatReaderOptions) {
    super(answer, options);
    this.#writer = new AnswerWriter(answer);
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#usage.reported;
  }

  get producedCharacters(): number {
    return this.answer.producedCharacters + this.#thinking.producedCharacters;
  }

  get reasoning(): ReasoningState | undefined {
    return this.#thinking.state;
  }

  /**
   * The `type` member determines the type. The name on the `event:` line counts only if that is
   * missing, or if the name is `error`: the official client library treats any such event as an
   * error.
   */
  protected override read(json: JsonObject, name: string): void {
    const type = name === 'error' ? name : (asString(json.type) ?? name);
    this.#thinking.read(json, type);
    switch (type) {
      case 'message_start':
        return this.#onMessageStart(asObject(json.message) ?? {});
      case 'content_block_start':
        return this.#onBlockStart(json);
      case 'content_block_delta':
        return this.#onBlockDelta(json);
      case 'content_block_stop':
        return this.#withIndex(json, (index) => this.#writer.endBlock(index));
      case 'message_delta':
        this.#stopReason = asString(asObject(json.delta)?.stop_reason) ?? this.#stopReason;
        return this.#usage.add(json.usage);
      case 'message_stop':
        return this.#onMessageStop();
      case 'error':
        return this.fail(mapStreamError(json));
      default:
        return this.#skip(type, silentTypes.events);
    }
  }

  /** A whole message says everything that the events of a stream say. */
  protected override readWhole(json: JsonObject): void {
    const { type, stop_reason, usage } = json;
    if (type !== 'message') return this.read(json, '');
    this.read({ type: 'message_start', message: json }, '');
    this.read({ type: 'message_delta', delta: { stop_reason }, usage }, '');
    if (this.result === undefined) this.read({ type: 'message_stop' }, '');
  }

  /**
   * A message may start with whole blocks and with the reason of its end; other blocks follow them.
   */
  #onMessageStart({ model, usage, content, stop_reason }: JsonObject): void {
    this.#hasBegun = true;
    this.answeringModel = asString(model);
    this.#stopReason = asString(stop_reason) ?? this.#stopReason;
    this.#usage.begin(usage);
    for (const [index, block] of asArray(content).entries()) {
      this.#beginBlock(index, asObject(block) ?? {});
      this.#writer.endBlock(index);
    }
  }

  #onBlockStart(json: JsonObject): void {
    this.#withIndex(json, (index) => this.#beginBlock(index, asObject(json.content_block) ?? {}));
  }

  #beginBlock(index: number, block: JsonObject): void {
    const type = asString(block.type);
    const [id, name] = [asString(block.id), asString(block.name)];
    if (type === 'text') return this.#writer.beginText(index, asString(block.text) ?? '');
    if (type === 'tool_use' && id !== undefined && name !== undefined) {
      return this.#writer.beginCall(index, { id, name, input: asObject(block.input) ?? {} });
    }
    if (type === undefined || type === 'tool_use') return this.fail(brokenStream());
    this.#writer.beginOther(index);
    this.#skip(type, silentTypes.blocks);
  }

  #onBlockDelta(json: JsonObject): void {
    const delta = asObject(json.delta) ?? {};
    const type = asString(delta.type) ?? '';
    switch (type) {
      case 'text_delta':
        return this.#withText(json, delta.text, (index, text) => this.#writer.text(index, text));
      case 'input_json_delta':
        return this.#withText(json, delta.partial_json, (index, text) => this.#writer.callArguments(index, text));
      case 'thinking_delta':
        return;
      default:
        return this.#skip(type, silentTypes.deltas);
    }
  }

  #onMessageStop(): void {
    if (!this.#hasBegun) return this.fail(brokenStream());
    this.#writer.endBlocks();
    this.finish(mapFinishReason(this.#stopReason, this.#writer.hasCalls));
  }

  /**
   * An event of a block without its index can't be interpreted, so neither can the rest of the
   * answer.
   */
  #withIndex(json: JsonObject, write: (index: number) => void): void {
    const index = asCount(json.index);
    if (index === undefined) this.fail(brokenStream());
    else write(index);
  }

  #withText(json: JsonObject, text: unknown, write: (index: number, text: string) => void): void {
    if (typeof text === 'string') this.#withIndex(json, (index) => write(index, text));
    else this.fail(brokenStream());
  }

  #skip(type: string, silent: ReadonlySet<string>): void {
    if (!silent.has(type)) this.unknownEvents += 1;
  }
}

/** Known events, blocks and deltas without content for a chat answer. */
export const silentTypes = {
  events: new Set(['ping']),
  blocks: new Set([
    'thinking',
    'redacted_thinking',
    'server_tool_use',
    'web_search_tool_result',
    'web_fetch_tool_result',
    'code_execution_tool_result',
    'bash_code_execution_tool_result',
    'text_editor_code_execution_tool_result',
    'tool_search_tool_result',
    'advisor_tool_result',
    'mcp_tool_use',
    'mcp_tool_result',
    'mcp_tool_listing',
    'container_upload',
    'compaction',
    'fallback',
  ]),
  deltas: new Set(['signature_delta', 'citations_delta', 'compaction_delta']),
} satisfies Record<string, ReadonlySet<string>>;
