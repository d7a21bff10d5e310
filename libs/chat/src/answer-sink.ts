import type { TokenUsage } from './token-usage.ts';

/** How a chat answer can end. @see spec "Chat completion object" */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ToolCallStart {
  /** Dense, from 0, in the order in which the calls begin. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
}

/**
 * Where a provider's event reader puts a chat answer, piece by piece. One implementation writes chunks, the other
 * assembles a completion object, so streamed and assembled answers come from the same reader.
 *
 * Order: pieces of content, then `finish` once. Reasoning has no method: it never leaves the gateway.
 *
 * `json` is the delta as JSON.stringify writes it, for readers that have it at hand: it need not be made again then.
 */
export interface ChatAnswerSink {
  text(delta: string, json?: string): void;
  refusal(delta: string): void;
  toolCall(start: ToolCallStart): void;
  toolArguments(index: number, delta: string, json?: string): void;
  /** Ends the answer. Usage is absent when the provider reported none. */
  finish(reason: FinishReason, usage: TokenUsage | undefined): void;
}
