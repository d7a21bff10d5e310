import { ChunkWriter } from './chunk-writer.ts';
import { CompletionAssembler } from './completion-assembler.ts';
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
 * A chat answer on its way to the client: deltas go in, the client's bytes come out. Content comes first, then `finish` once.
 * Reasoning has no method: it never leaves the gateway.
 */
export interface ChatAnswer {
  text(delta: string): void;
  refusal(delta: string): void;
  toolCall(start: ToolCallStart): void;
  toolArguments(index: number, delta: string): void;
  /** Ends the answer. Usage is absent when the provider reported none. */
  finish(reason: FinishReason, usage: TokenUsage | undefined): void;
  /** Header names are in lower case. */
  readonly head: { readonly status: 200; readonly headers: Readonly<Record<string, string>> };
  /** Client bytes finished since the last call; empty when none. A stream's role chunk comes with its first content. */
  take(): Uint8Array;
  /**
   * True once there is something for the client: in a stream at the first content, in a completion object, which is
   * sent whole, at the end. From then on no other attempt may be made.
   */
  readonly hasContent: boolean;
  /** True for chunks, false for a completion object. */
  readonly isStreamed: boolean;
  /** True once a completion object has grown beyond its bound: nothing comes of it any more. */
  readonly isTooLarge: boolean;
  /** Characters of text, refusal and tool arguments so far. */
  readonly producedCharacters: number;
}

export interface ChatAnswerOptions {
  /** What follows `chatcmpl-` in the answer's id. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** The provider's model that answers. */
  readonly model: string;
  /** True: chunks as server-sent events. False: one completion object. */
  readonly stream: boolean;
  /** Ends a stream with a chunk of usage, when the provider reported it. */
  readonly includeUsage: boolean;
  /** The largest completion object; absent: no bound. Streams have no such bound. */
  readonly maxBytes?: number;
}

/** Streamed and assembled answers made of the same deltas say the same. @see spec "Chat completion object" */
export function createChatAnswer(options: ChatAnswerOptions): ChatAnswer {
  return options.stream ? new ChunkWriter(options) : new CompletionAssembler(options);
}
