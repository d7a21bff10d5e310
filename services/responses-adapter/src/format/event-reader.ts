import {
  brokenStream,
  ChatAnswerReader,
  type ChatReaderOptions,
  type QuotaWindow,
  type ReasoningState,
  type UpstreamHead,
} from '@gateway/adapter-kit';
import type { ChatAnswer, ReportedUsage } from '@gateway/chat';
import { asArray, asCount, asObject, asString, type JsonObject } from '@gateway/json';
import { CallWriter, type MessagePart, MessageWriter, mapFinishReason, readItem, readPart } from './answer-writer.ts';
import { ItemKeys } from './item-keys.ts';
import { mapStreamError } from './map-upstream-error.ts';
import { EventQuotas } from './read-quotas.ts';
import { ReasoningItems } from './read-reasoning.ts';
import { UsageReports } from './usage-reports.ts';

/**
 * Reads the events of one response into a chat answer. Streamed content is written at once; content
 * that only a later event contains (a part, an item or the whole response) is written then, and
 * nothing is written twice. Members with a sensible meaning when absent may be absent.
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
export class EventReader extends ChatAnswerReader {
  readonly #messages: MessageWriter;
  readonly #calls: CallWriter;
  readonly #items = new ItemKeys(() => this.#calls.onNextItem());
  readonly #quotas: EventQuotas;
  readonly #reasoning = new ReasoningItems();
  readonly #usage = new UsageReports();

  constructor(answer: ChatAnswer, options: ChatReaderOptions) {
    super(answer, options);
    const { wantsJson, nowMs } = options;
    this.#messages = new MessageWriter(answer, wantsJson);
    this.#calls = new CallWriter(answer);
    this.#quotas = new EventQuotas(nowMs);
  }

  onHead({ skewMs }: UpstreamHead): void {
    this.#quotas.skewMs = skewMs;
  }

  get reportedUsage(): ReportedUsage | undefined {
    return this.#usage.reported;
  }

  get quotas(): readonly QuotaWindow[] {
    return this.#quotas.windows;
  }

  /** Characters of text, refusals, reasoning and tool arguments so far. */
  get producedCharacters(): number {
    return this.#messages.producedCharacters + this.#calls.producedCharacters + this.#reasoning.producedCharacters;
  }

  get reasoning(): ReasoningState | undefined {
    return this.#reasoning.state;
  }

  protected override read(json: JsonObject, name: string): void {
    const type = eventType(json, name);
    this.#reasoning.read(json, type);
    switch (type) {
      case 'response.output_item.added':
        return this.#onItemAdded(json);
      case 'response.output_item.done':
        return this.#onItemDone(json);
      case 'response.output_text.delta':
        return this.#onTextDelta(json, 'text');
      case 'response.refusal.delta':
        return this.#onTextDelta(json, 'refusal');
      case 'response.output_text.done':
        return this.#onPartDone(json, { type: 'text', text: asString(json.text) ?? '' });
      case 'response.refusal.done':
        return this.#onPartDone(json, { type: 'refusal', text: asString(json.refusal) ?? '' });
      case 'response.content_part.done':
        return this.#onPartDone(json, readPart(json.part));
      case 'response.function_call_arguments.delta':
        return this.#onArgumentsDelta(json);
      case 'response.function_call_arguments.done':
        return this.#calls.completeArguments(this.#items.of(json, 'part'), asString(json.arguments) ?? '');
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#onResponseEnd(readResponseEnd(json, type));
      case 'codex.rate_limits':
        return this.#quotas.add(json);
      case 'error':
        return this.#onError(json);
      default:
        if (!silentTypes.has(type)) this.unknownEvents += 1;
    }
  }

  /** A whole response is the last event of a stream. */
  protected override readWhole(json: JsonObject): void {
    const isResponse = endStatuses.some((status) => status === json.status);
    this.read(isResponse ? { type: 'response.completed', response: json } : json, '');
  }

  #onItemAdded(json: JsonObject): void {
    const key = this.#items.of(json, 'added');
    const item = readItem(json.item);
    if (item?.type === 'message') this.#messages.begin(key, item.phase);
    if (item?.type === 'function_call') this.#calls.begin(key, item);
  }

  #onItemDone(json: JsonObject): void {
    const key = this.#items.of(json, 'done');
    this.#usage.onItemDone(json.item);
    const item = readItem(json.item);
    if (item?.type === 'message') this.#messages.complete(key, item);
    if (item?.type === 'function_call') this.#calls.complete(key, item);
  }

  #onTextDelta(json: JsonObject, type: MessagePart['type']): void {
    const text = asString(json.delta);
    if (text === undefined) return this.fail(brokenStream());
    this.#messages.delta(this.#items.of(json, 'part'), asCount(json.content_index) ?? 0, { type, text });
  }

  /** A part that has no equivalent in chat counts as empty. */
  #onPartDone(json: JsonObject, part: MessagePart = { type: 'text', text: '' }): void {
    this.#messages.completePart(this.#items.of(json, 'part'), asCount(json.content_index) ?? 0, part);
  }

  #onArgumentsDelta(json: JsonObject): void {
    const delta = asString(json.delta);
    if (delta === undefined) this.fail(brokenStream());
    else this.#calls.delta(this.#items.of(json, 'part'), delta);
  }

  #onResponseEnd({ status, response }: ResponseEnd): void {
    this.#usage.onResponse(response);
    this.answeringModel = asString(response.model);
    if (status === 'failed') return this.#onError(response);
    if (status === 'cancelled') return this.fail(brokenStream());
    this.#writeWhatNoEventHeld(asArray(response.output));
    this.#messages.finish();
    const { hasCalls: hasToolCalls, hasNamelessCalls } = this.#calls;
    if (status === 'completed' && hasNamelessCalls) return this.fail(brokenStream());
    this.finish(mapFinishReason({ status, incompleteReason: readIncompleteReason(response), hasToolCalls }));
  }

  /**
   * Writes items from the response's own list, which is empty on subscription backends. Its
   * positions need not be output indexes, so calls are identified by their call ids, and messages
   * are used only when no event contained any text.
   */
  #writeWhatNoEventHeld(output: readonly unknown[]): void {
    const hadText = this.#messages.hasText;
    for (const [position, value] of output.entries()) {
      const item = readItem(value);
      const newKey = this.#items.next();
      const isLast = position === output.length - 1;
      if (item?.type === 'function_call') this.#calls.completeById(item, { newKey, isLast });
      if (item?.type === 'message' && !hadText) this.#messages.complete(newKey, item);
    }
  }

  /** @param holder contains the error, flat or nested */
  #onError(holder: JsonObject): void {
    this.fail(mapStreamError(holder, this.#quotas));
  }
}

/**
 * The `type` member determines the type; the name on the `event:` line counts only if that is
 * missing.
 */
export function eventType(json: JsonObject, name: string): string {
  return asString(json.type) ?? (asObject(json.error) === undefined ? name : 'error');
}

interface ResponseEnd {
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly response: JsonObject;
}

/**
 * Some backends end every response with `response.completed`: then the response's own status
 * counts.
 */
export function readResponseEnd(json: JsonObject, type: string): ResponseEnd {
  const response = asObject(json.response) ?? {};
  const [byType, own] = [type.slice('response.'.length), response.status].map((text) =>
    endStatuses.find((status) => status === text),
  );
  return { status: (byType === 'completed' ? own : byType) ?? 'completed', response };
}

/** Why a response ended before it was complete. */
export function readIncompleteReason(response: JsonObject): string | undefined {
  return asString(asObject(response.incomplete_details)?.reason);
}

const endStatuses: readonly ResponseEnd['status'][] = ['completed', 'incomplete', 'failed', 'cancelled'];

/**
 * Known events without content for a chat answer. An event that is neither here nor read is new: it
 * is skipped and counted.
 */
export const silentTypes: ReadonlySet<string> = new Set([
  // Events at the start of a response or a part, and repeats of other events.
  ...typesOf('response', ['created', 'in_progress', 'queued', 'content_part.added', 'output_text.annotation.added']),
  ...typesOf('response.reasoning_summary_part', ['added', 'done']),
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
  // Events of tools and media that chat can't request.
  ...typesOf('response.audio', ['delta', 'done', 'transcript.delta', 'transcript.done']),
  ...typesOf('response.code_interpreter_call', ['completed', 'in_progress', 'interpreting']),
  ...typesOf('response.code_interpreter_call_code', ['delta', 'done']),
  'response.compaction.compacting',
  ...typesOf('response.custom_tool_call_input', ['delta', 'done']),
  ...typesOf('response.file_search_call', ['completed', 'in_progress', 'searching']),
  ...typesOf('response.image_generation_call', ['completed', 'generating', 'in_progress', 'partial_image']),
  ...typesOf('response.mcp_call', ['completed', 'failed', 'in_progress']),
  ...typesOf('response.mcp_call_arguments', ['delta', 'done']),
  ...typesOf('response.mcp_list_tools', ['completed', 'failed', 'in_progress']),
  ...typesOf('response.shell_call_command', ['added', 'delta', 'done']),
  ...typesOf('response.shell_call_output_content', ['delta', 'done']),
  ...typesOf('response.web_search_call', ['completed', 'in_progress', 'searching']),
  // Events of responses that are steered while they run.
  ...typesOf('response.steer', ['accepted', 'failed', 'pending']),
  // Keep-alives that some backends send in addition.
  'keepalive',
  'ping',
]);

function typesOf(subject: string, events: readonly string[]): readonly string[] {
  return events.map((event) => `${subject}.${event}`);
}
