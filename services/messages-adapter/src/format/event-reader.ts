import { brokenStream, ChatAnswerReader, type ChatReaderOptions, type ReasoningState } from '@gateway/adapter-kit';
import { type ChatAnswer, type ReportedUsage, readTokenCount, toReportedUsage } from '@gateway/chat';
import { asArray, asCount, asObject, asString, type JsonObject } from '@gateway/json';
import { AnswerWriter, mapFinishReason } from './answer-writer.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { ThinkingBlocks } from './read-reasoning.ts';

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

/**
 * The usage that the events of one answer report. Their counts are totals: one that is lower than
 * an earlier one, or absent, changes nothing.
 */
export class UsageReports {
  #counts = countsIn(undefined);
  /** The output reported at the start: it does not replace an unusable total. */
  #firstOutput: Count;
  /** Undefined before the first report. */
  reported: ReportedUsage | undefined;

  /** @param usage the usage at the start of an answer */
  begin(usage: unknown): void {
    const { output, ...report } = countsIn(usage);
    this.#firstOutput = largestOf(this.#firstOutput, output);
    this.#take({ ...report, output: undefined });
  }

  /** @param usage the usage in a later event, or in a whole message */
  add(usage: unknown): void {
    this.#take(countsIn(usage));
  }

  #take(report: Counts): void {
    const known = this.#counts;
    this.#counts = {
      ...inputAfter(known, report),
      output: largestOf(known.output, report.output),
      thinking: largestOf(known.thinking, report.thinking),
    };
    const { output = this.#firstOutput } = this.#counts;
    this.reported = toUsage({ ...this.#counts, output: Math.max(output ?? Number.NaN, this.#firstOutput || 0) });
  }
}

/** Undefined: not reported. NaN: reported, but not a valid token count. */
type Count = number | undefined;

/** Input excludes cached tokens; output includes thinking. */
type Counts = InputCounts & Readonly<Record<'output' | 'thinking', Count>>;
/** `hour`: the part of the cache creation that is for an hour. */
type InputCounts = Readonly<Record<'input' | 'cacheCreation' | 'hour' | 'cacheRead', Count>>;

function countsIn(value: unknown): Counts {
  const usage = asObject(value) ?? {};
  const byLifetime = asObject(usage.cache_creation);
  const [fiveMinutes, hour] = [
    readCount(byLifetime?.ephemeral_5m_input_tokens),
    readCount(byLifetime?.ephemeral_1h_input_tokens),
  ];
  const ofBoth = fiveMinutes === undefined && hour === undefined ? undefined : (fiveMinutes ?? 0) + (hour ?? 0);
  return {
    input: readCount(usage.input_tokens),
    cacheCreation: readCount(usage.cache_creation_input_tokens) ?? ofBoth,
    hour,
    cacheRead: readCount(usage.cache_read_input_tokens),
    output: readCount(usage.output_tokens),
    thinking: readCount(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

function readCount(value: unknown): Count {
  return value === undefined || value === null ? undefined : (readTokenCount(value) ?? Number.NaN);
}

/** The larger of the valid counts. */
function largestOf(known: Count, later: Count): Count {
  return known === undefined || Number.isNaN(known) ? (later ?? known) : Math.max(known, later || 0);
}

/**
 * The parts of the input. A later report may move tokens between parts, for instance when it is the
 * first to report cached ones: only the total must not decrease then. Once the total is known,
 * invalid counts change nothing.
 */
function inputAfter(known: InputCounts, report: InputCounts): InputCounts {
  const total = totalOf(known);
  const later = Number.isNaN(total) ? report : usableOf(report);
  const cached = {
    cacheCreation: largestOf(known.cacheCreation, later.cacheCreation),
    hour: largestOf(known.hour, later.hour),
    cacheRead: largestOf(known.cacheRead, later.cacheRead),
  };
  if (!later.input) return { input: largestOf(known.input, later.input), ...cached };
  const rest = total - (cached.cacheCreation ?? 0) - (cached.cacheRead ?? 0);
  return { input: Math.max(later.input, rest || 0), ...cached };
}

function usableOf({ input, cacheCreation, hour, cacheRead }: InputCounts): InputCounts {
  return {
    input: input || undefined,
    cacheCreation: cacheCreation || undefined,
    hour: hour || undefined,
    cacheRead: cacheRead || undefined,
  };
}

/** NaN when one of the parts is unknown: the rest is not a total. */
function totalOf({ input = Number.NaN, cacheCreation = 0, cacheRead = 0 }: InputCounts): number {
  return input + cacheCreation + cacheRead;
}

/** Usage as chat counts it, with cached tokens included in the input. */
function toUsage(counts: Counts): ReportedUsage | undefined {
  const { cacheCreation, hour, cacheRead, output, thinking } = counts;
  const [cachedTokens, reasoningTokens] = [readTokenCount(cacheRead), readTokenCount(thinking)];
  const usage = toReportedUsage({ inputTokens: totalOf(counts), cachedTokens, outputTokens: output, reasoningTokens });
  const created = readTokenCount(cacheCreation) ?? 0;
  const created1h = Math.min(readTokenCount(hour) ?? 0, created);
  return (
    usage && { ...usage, cacheCreationTokens: created || undefined, cacheCreation1hTokens: created1h || undefined }
  );
}
