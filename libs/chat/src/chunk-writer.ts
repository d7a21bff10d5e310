import {
  argumentsOfNone,
  type ChatAnswer,
  type ChatAnswerOptions,
  type FinishReason,
  streamHeaders,
  type ToolCallStart,
} from './chat-answer.ts';
import { type TokenUsage, toUsageObject } from './token-usage.ts';

/** Writes a chat answer as chunks. @see spec "Chat completion chunk (streamed form)" */
export class ChunkWriter implements ChatAnswer {
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
