import type { ReportedUsage } from '@gateway/chat';
import type { JsonObject } from '@gateway/json';

/**
 * The events of a response that say something for a chat answer, as far as they do.
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
export type ProviderEvent =
  | ItemAdded
  | ItemDone
  | TextDelta
  | TextDone
  | ArgumentsDelta
  | ArgumentsDone
  | ReasoningDelta
  | ResponseEnded
  | RateLimits
  | ErrorEvent;

/** Where an item stands in the response. Undefined on backends that leave it out: the latest item then. */
export type OutputIndex = number | undefined;

export interface ItemAdded {
  readonly kind: 'item-added';
  readonly outputIndex: OutputIndex;
  readonly item: OutputItem;
}

/** The item is complete, whatever events came before. */
export interface ItemDone {
  readonly kind: 'item-done';
  readonly outputIndex: OutputIndex;
  readonly item: OutputItem;
}

export interface TextDelta {
  readonly kind: 'text-delta';
  readonly outputIndex: OutputIndex;
  readonly contentIndex: number;
  /** The next piece of the part. */
  readonly part: MessagePart;
}

/** A part of a message is complete, whatever deltas came before. */
export interface TextDone {
  readonly kind: 'text-done';
  readonly outputIndex: OutputIndex;
  readonly contentIndex: number;
  readonly part: MessagePart;
}

export interface ArgumentsDelta {
  readonly kind: 'arguments-delta';
  readonly outputIndex: OutputIndex;
  readonly delta: string;
  /** The delta as JSON.stringify writes it, where the provider did so too. */
  readonly deltaJson?: string | undefined;
}

export interface ArgumentsDone {
  readonly kind: 'arguments-done';
  readonly outputIndex: OutputIndex;
  readonly arguments: string;
}

/** Reasoning is never forwarded; it counts as produced. */
export interface ReasoningDelta {
  readonly kind: 'reasoning-delta';
  readonly delta: string;
}

export interface ResponseEnded {
  readonly kind: 'response-ended';
  readonly status: 'completed' | 'incomplete' | 'failed' | 'cancelled';
  readonly incompleteReason: string | undefined;
  /** Empty on subscription backends. */
  readonly output: readonly OutputItem[];
  readonly usage: ReportedUsage | undefined;
  /** `response.error`, unread. */
  readonly error: unknown;
}

/** Sent by subscription backends about the account's windows. */
export interface RateLimits {
  readonly kind: 'rate-limits';
  /** The whole event. See `eventWindows`. */
  readonly limits: JsonObject;
}

export interface ErrorEvent {
  readonly kind: 'error';
  /** The whole event: the error lies in it flat or nested. */
  readonly error: unknown;
}

export type PartType = 'text' | 'refusal';

export interface MessagePart {
  readonly type: PartType;
  readonly text: string;
  /** The text as JSON.stringify writes it, where the provider did so too. */
  readonly textJson?: string | undefined;
}

export type OutputItem = MessageItem | FunctionCallItem | OtherItem;

export interface MessageItem {
  readonly type: 'message';
  /** "commentary" before tool calls, "final_answer" at the end; undefined on models that don't tell. */
  readonly phase: string | undefined;
  /** By `content_index`; parts of other kinds are undefined. */
  readonly parts: readonly (MessagePart | undefined)[];
}

export interface FunctionCallItem {
  readonly type: 'function_call';
  readonly callId: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** Reasoning, built-in tools and what is yet to come. */
export interface OtherItem {
  readonly type: 'other';
}

/** True for known events that say nothing for a chat answer. One that is in neither list is new: it is skipped and counted. */
export function isSilentEvent(type: string): boolean {
  return silentTypes.has(type);
}

const silentTypes: ReadonlySet<string> = new Set([
  // What a response or a part begins with, and what repeats other events.
  'response.content_part.added',
  'response.created',
  'response.in_progress',
  'response.output_text.annotation.added',
  'response.queued',
  'response.reasoning_summary_part.added',
  'response.reasoning_summary_part.done',
  'response.reasoning_summary_text.done',
  'response.reasoning_text.done',
  // Of tools and media that chat can't ask for.
  'response.audio.delta',
  'response.audio.done',
  'response.audio.transcript.delta',
  'response.audio.transcript.done',
  'response.code_interpreter_call.completed',
  'response.code_interpreter_call.in_progress',
  'response.code_interpreter_call.interpreting',
  'response.code_interpreter_call_code.delta',
  'response.code_interpreter_call_code.done',
  'response.compaction.compacting',
  'response.custom_tool_call_input.delta',
  'response.custom_tool_call_input.done',
  'response.file_search_call.completed',
  'response.file_search_call.in_progress',
  'response.file_search_call.searching',
  'response.image_generation_call.completed',
  'response.image_generation_call.generating',
  'response.image_generation_call.in_progress',
  'response.image_generation_call.partial_image',
  'response.mcp_call.completed',
  'response.mcp_call.failed',
  'response.mcp_call.in_progress',
  'response.mcp_call_arguments.delta',
  'response.mcp_call_arguments.done',
  'response.mcp_list_tools.completed',
  'response.mcp_list_tools.failed',
  'response.mcp_list_tools.in_progress',
  'response.shell_call_command.added',
  'response.shell_call_command.delta',
  'response.shell_call_command.done',
  'response.shell_call_output_content.delta',
  'response.shell_call_output_content.done',
  'response.web_search_call.completed',
  'response.web_search_call.in_progress',
  'response.web_search_call.searching',
  // Of responses that are steered while they run.
  'response.steer.accepted',
  'response.steer.failed',
  'response.steer.pending',
  // Signs of life that backends send besides.
  'keepalive',
  'ping',
]);
