import { sseData } from '@gateway/sse';
import type { FinishReason, ToolCallStart } from './answer-sink.ts';
import type { ChatAnswer, ChatAnswerHead, ChatAnswerOptions } from './chat-answer.ts';
import { noArguments } from './no-arguments.ts';
import type { TokenUsage } from './token-usage.ts';
import { toUsageObject } from './usage-object.ts';

/** Writes a chat answer as chunks. @see spec "Chat completion chunk (streamed form)" */
export class ChunkWriter implements ChatAnswer {
  readonly head = streamHead;
  readonly isStreamed = true;
  readonly isTooLarge = false;
  readonly #includeUsage: boolean;
  /** The start of every chunk: what is the same in all chunks of a stream is made into text once. */
  readonly #chunkStart: string;
  readonly #deltaStart: string;
  readonly #callsWithoutArguments = new Set<number>();
  #text = '';
  #hasContent = false;
  #finished = false;
  #producedCharacters = 0;

  constructor({ id, created, model, includeUsage }: Omit<ChatAnswerOptions, 'stream'>) {
    this.#includeUsage = includeUsage;
    const constant = JSON.stringify({ id: `chatcmpl-${id}`, object: 'chat.completion.chunk', created, model });
    this.#chunkStart = `data: ${constant.slice(0, -1)},"choices":[`;
    this.#deltaStart = `${this.#chunkStart}{"index":0,"delta":`;
  }

  get hasContent(): boolean {
    return this.#hasContent;
  }

  get finished(): boolean {
    return this.#finished;
  }

  get producedCharacters(): number {
    return this.#producedCharacters;
  }

  text(delta: string, json = JSON.stringify(delta)): void {
    if (delta === '') return;
    this.#producedCharacters += delta.length;
    this.#writeDelta(`{"content":${json}}`);
  }

  refusal(delta: string): void {
    if (delta === '') return;
    this.#producedCharacters += delta.length;
    this.#writeDelta(`{"refusal":${JSON.stringify(delta)}}`);
  }

  toolCall({ index, id, name }: ToolCallStart): void {
    this.#callsWithoutArguments.add(index);
    const call = { index, id, type: 'function', function: { name, arguments: '' } };
    this.#writeDelta(`{"tool_calls":[${JSON.stringify(call)}]}`);
  }

  toolArguments(index: number, delta: string, json = JSON.stringify(delta)): void {
    if (delta === '') return;
    this.#callsWithoutArguments.delete(index);
    this.#producedCharacters += delta.length;
    this.#writeToolArguments(index, json);
  }

  finish(reason: FinishReason, usage: TokenUsage | undefined): void {
    for (const index of this.#callsWithoutArguments) this.#writeToolArguments(index, JSON.stringify(noArguments));
    this.#writeRoleOnce();
    this.#writeChoice('{}', `"${reason}"`);
    if (this.#includeUsage && usage !== undefined) this.#writeUsage(usage);
    this.#text += sseData('[DONE]');
    this.#finished = true;
  }

  take(): Uint8Array {
    if (this.#text === '') return nothing;
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes;
  }

  #writeToolArguments(index: number, json: string): void {
    this.#writeDelta(`{"tool_calls":[{"index":${index},"function":{"arguments":${json}}}]}`);
  }

  #writeDelta(delta: string): void {
    this.#writeRoleOnce();
    this.#writeChoice(delta, 'null');
  }

  #writeRoleOnce(): void {
    if (this.#hasContent) return;
    this.#hasContent = true;
    this.#writeChoice('{"role":"assistant","content":""}', 'null');
  }

  #writeChoice(delta: string, finishReason: string): void {
    this.#text += `${this.#deltaStart}${delta},"finish_reason":${finishReason}}]}\n\n`;
  }

  #writeUsage(usage: TokenUsage): void {
    this.#text += `${this.#chunkStart}],"usage":${JSON.stringify(toUsageObject(usage))}}\n\n`;
  }
}

const nothing = new Uint8Array();

const streamHead: ChatAnswerHead = {
  status: 200,
  headers: {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache, no-transform',
    // Asks reverse proxies to pass events on as they come.
    'x-accel-buffering': 'no',
  },
};
