import type { ChatAnswerSink } from './answer-sink.ts';
import { ChunkWriter } from './chunk-writer.ts';
import { CompletionAssembler } from './completion-assembler.ts';

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
  /** How large a completion object may become. Absent: as large as it does. Streams have no such bound. */
  readonly maxBytes?: number;
}

export interface ChatAnswerHead {
  readonly status: 200;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A chat answer on its way to the client: pieces go in as a sink's, the client's bytes come out. */
export interface ChatAnswer extends ChatAnswerSink {
  readonly head: ChatAnswerHead;
  /** Client bytes finished since the last call; empty when none. A stream's role chunk comes with its first content. */
  take(): Uint8Array;
  /**
   * True once there is something for the client: in a stream at the first content, in a completion object, which is
   * sent whole, at the end. From then on no other attempt may be made.
   */
  readonly hasContent: boolean;
  /** True after `finish`. */
  readonly finished: boolean;
  /** True when it goes out as it comes, false when it is put together first. */
  readonly isStreamed: boolean;
  /** True once a completion object has grown beyond its bound: nothing comes of it any more. */
  readonly isTooLarge: boolean;
  /** Characters of text, refusal and tool arguments so far. */
  readonly producedCharacters: number;
}

/** Streamed and assembled answers made of the same pieces say the same. @see spec "Chat completion object" */
export function createChatAnswer(options: ChatAnswerOptions): ChatAnswer {
  return options.stream ? new ChunkWriter(options) : new CompletionAssembler(options);
}
