import type { TokenUsage } from './token-usage.ts';

/** How a chat answer can end. @see spec "Chat completion object" */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

export interface ToolCallStart {
  /** Counts from 0 without gaps, in the order in which the calls start. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
}

/**
 * A chat answer on its way to the client: deltas go in, the client's bytes come out. Content comes
 * first, then `finish` once. Reasoning has no method, because it never leaves the gateway.
 */
export interface ChatAnswer {
  text(delta: string): void;
  refusal(delta: string): void;
  toolCall(start: ToolCallStart): void;
  toolArguments(index: number, delta: string): void;
  /**
   * Finishes the answer, including tool calls whose arguments are missing. Usage is absent when the
   * provider reported none.
   */
  finish(reason: FinishReason, usage: TokenUsage | undefined): void;
  /** Header names are in lower case. */
  readonly head: { readonly status: 200; readonly headers: Readonly<Record<string, string>> };
  /**
   * The client's bytes since the last call; empty when there are none. A stream's role chunk
   * precedes its first content.
   */
  take(): Uint8Array;
  /**
   * True once there is something to send: in a stream at the first content; in a completion object,
   * which is sent whole, at the end. After that no other attempt may start.
   */
  readonly hasContent: boolean;
  /** True for chunks, false for a completion object. */
  readonly isStreamed: boolean;
  /** True once a completion object has exceeded its bound: it will not be sent. */
  readonly isTooLarge: boolean;
  /** Characters of text, refusal and tool arguments so far. */
  readonly producedCharacters: number;
}

export interface ChatAnswerOptions {
  /** The part of the answer's id after `chatcmpl-`. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The provider's model that produces the answer. */
  readonly model: string;
  /** True: chunks as server-sent events. False: one completion object. */
  readonly stream: boolean;
  /** Whether a stream ends with a chunk of usage, if the provider reported it. */
  readonly includeUsage: boolean;
  /** The largest size of a completion object; absent: unlimited. Does not apply to streams. */
  readonly maxBytes?: number;
}

/** Headers of every event stream to a client. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Asks reverse proxies not to buffer events.
  'x-accel-buffering': 'no',
};

/**
 * The arguments of a tool call that received none. Clients parse arguments as JSON, so a complete
 * call gets an empty object. If the answer was cut short, the call may be incomplete as well. It
 * must not look complete then, because a client would run it without its arguments.
 */
export function argumentsOfNone(reason: FinishReason): '' | '{}' {
  return reason === 'length' || reason === 'content_filter' ? '' : '{}';
}
