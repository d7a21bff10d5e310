import type { JsonObject } from '@gateway/json';

/**
 * The events of a Messages stream that say something for a chat answer, as far as they do.
 * @see https://platform.claude.com/docs/en/build-with-claude/streaming
 */
export type ProviderEvent =
  | MessageStart
  | ContentBlockStart
  | TextDelta
  | InputJsonDelta
  | ThinkingDelta
  | ContentBlockStop
  | MessageDelta
  | MessageStop
  | ErrorEvent;

export interface MessageStart {
  readonly kind: 'message-start';
  readonly usage: ReportedCounts;
}

export interface ContentBlockStart {
  readonly kind: 'content-block-start';
  /** Where the block stands among all blocks; deltas and the stop name it. */
  readonly index: number;
  readonly block: ContentBlock;
}

export interface TextDelta {
  readonly kind: 'text-delta';
  readonly index: number;
  readonly text: string;
  /** The text as JSON.stringify writes it, where the provider did so too. */
  readonly textJson?: string;
}

export interface InputJsonDelta {
  readonly kind: 'input-json-delta';
  readonly index: number;
  /** A piece of the arguments' JSON text; the first one is usually empty. */
  readonly json: string;
  /** The piece as JSON.stringify writes it, where the provider did so too. */
  readonly pieceJson?: string;
}

/** Reasoning is never forwarded; it counts as produced. */
export interface ThinkingDelta {
  readonly kind: 'thinking-delta';
  readonly thinking: string;
}

export interface ContentBlockStop {
  readonly kind: 'content-block-stop';
  readonly index: number;
}

export interface MessageDelta {
  readonly kind: 'message-delta';
  readonly stopReason: string | undefined;
  readonly usage: ReportedCounts;
}

export interface MessageStop {
  readonly kind: 'message-stop';
}

export interface ErrorEvent {
  readonly kind: 'error';
  /** The whole event, unread. */
  readonly error: unknown;
}

export type ContentBlock = TextContentBlock | ToolUseContentBlock | OtherContentBlock;

export interface TextContentBlock {
  readonly type: 'text';
  readonly text: string;
}

export interface ToolUseContentBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  /** The arguments, where a provider sends them whole; else empty. */
  readonly input: JsonObject;
}

/** Thinking, the provider's own tools, and what is yet to come: nothing of such a block reaches a chat client. */
export interface OtherContentBlock {
  readonly type: 'other';
  readonly isKnown: boolean;
}

/** Counts as one event reports them, cumulative over the answer. */
export interface ReportedCounts {
  /** Cached tokens not included. */
  readonly inputTokens: ReportedCount;
  readonly cacheCreationTokens: ReportedCount;
  readonly cacheReadTokens: ReportedCount;
  /** Thinking included. */
  readonly outputTokens: ReportedCount;
  readonly thinkingTokens: ReportedCount;
}

/** Undefined: not reported in that event. `unusable`: reported as something that can't be a count of tokens. */
export type ReportedCount = number | 'unusable' | undefined;

/** Events, blocks and deltas that are known and say nothing for a chat answer. */
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
