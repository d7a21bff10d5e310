import { argumentsOfNone, CompletionAssembler } from './completion-assembler.ts';
import { type TokenUsage, toUsageObject } from './token-usage.ts';

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

/**
 * A streamed and an assembled answer with the same deltas have the same content.
 * @see spec "Chat completion object"
 */
export function createChatAnswer(options: ChatAnswerOptions): ChatAnswer {
  return options.stream ? new ChunkWriter(options) : new CompletionAssembler(options);
}

/** Writes a chat answer as chunks. @see spec "Chat completion chunk (streamed form)" */
class ChunkWriter implements ChatAnswer {
  readonly head = { status: 200, headers: streamHeaders } as const;
  readonly isStreamed = true;
  readonly isTooLarge = false;
  hasContent = false;
  producedCharacters = 0;
  readonly #includeUsage: boolean;
  /** The members that all chunks of a stream start with, as JSON. */
  readonly #chunkStart: string;
  readonly #callsWithoutArguments = new Set<number>();
  #text = '';

  constructor({ id, created, model, includeUsage }: Omit<ChatAnswerOptions, 'stream'>) {
    this.#includeUsage = includeUsage;
    const members = { id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model };
    this.#chunkStart = JSON.stringify(members).slice(0, -1);
  }

  text(delta: string): void {
    if (delta === '') return;
    this.producedCharacters += delta.length;
    this.#writeDelta({ content: delta });
  }

  refusal(delta: string): void {
    if (delta === '') return;
    this.producedCharacters += delta.length;
    this.#writeDelta({ refusal: delta });
  }

  toolCall({ index, id, name }: ToolCallStart): void {
    this.#callsWithoutArguments.add(index);
    this.#writeDelta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
  }

  toolArguments(index: number, delta: string): void {
    if (delta === '') return;
    this.#callsWithoutArguments.delete(index);
    this.producedCharacters += delta.length;
    this.#writeArguments(index, delta);
  }

  finish(reason: FinishReason, usage: TokenUsage | undefined): void {
    const written = argumentsOfNone(reason);
    if (written !== '') for (const index of this.#callsWithoutArguments) this.#writeArguments(index, written);
    this.#writeRoleOnce();
    this.#writeChoice({}, reason);
    if (this.#includeUsage && usage !== undefined) {
      this.#write(`${this.#chunkStart},"choices":[],"usage":${JSON.stringify(toUsageObject(usage))}}`);
    }
    this.#write('[DONE]');
  }

  take(): Uint8Array {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes;
  }

  #writeArguments(index: number, delta: string): void {
    this.#writeDelta({ tool_calls: [{ index, function: { arguments: delta } }] });
  }

  #writeDelta(delta: object): void {
    this.#writeRoleOnce();
    this.#writeChoice(delta, null);
  }

  #writeRoleOnce(): void {
    if (this.hasContent) return;
    this.hasContent = true;
    this.#writeChoice({ role: 'assistant', content: '' }, null);
  }

  #writeChoice(delta: object, finishReason: FinishReason | null): void {
    const choice = JSON.stringify({ index: 0, delta, finish_reason: finishReason });
    this.#write(`${this.#chunkStart},"choices":[${choice}]}`);
  }

  #write(data: string): void {
    this.#text += `data: ${data}\n\n`;
  }
}

/** Headers of every event stream to a client. */
export const streamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // Asks reverse proxies not to buffer events.
  'x-accel-buffering': 'no',
};
