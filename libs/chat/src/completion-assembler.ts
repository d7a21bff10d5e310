import type { FinishReason, ToolCallStart } from './answer-sink.ts';
import type { ChatAnswer, ChatAnswerHead, ChatAnswerOptions } from './chat-answer.ts';
import { noArguments } from './no-arguments.ts';
import type { TokenUsage } from './token-usage.ts';
import { toUsageObject } from './usage-object.ts';

/**
 * Gathers a chat answer into one completion object. Its text is kept as JSON from the first piece on, which readers mostly have at
 * hand: to make the whole of it into JSON at the end costs more than all else here. @see spec "Chat completion object"
 */
export class CompletionAssembler implements ChatAnswer {
  readonly head = objectHead;
  readonly isStreamed = false;
  readonly #identity: Pick<ChatAnswerOptions, 'id' | 'created' | 'model'>;
  readonly #toolCalls = new Map<number, AssembledCall>();
  /** The text as JSON, without quotes. */
  #textJson = '';
  #refusal = '';
  #completion = '';
  #finished = false;
  #producedCharacters = 0;
  readonly #maxBytes: number;
  /** Of what it is put together from. */
  #bytes = 0;

  constructor({ id, created, model, maxBytes = Number.POSITIVE_INFINITY }: AssemblerOptions) {
    this.#identity = { id, created, model };
    this.#maxBytes = maxBytes;
  }

  get isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get hasContent(): boolean {
    return this.#finished;
  }

  get finished(): boolean {
    return this.#finished;
  }

  get producedCharacters(): number {
    return this.#producedCharacters;
  }

  text(delta: string, json = JSON.stringify(delta)): void {
    this.#producedCharacters += delta.length;
    if (this.#hasRoomFor(json)) this.#textJson += json.slice(1, -1);
  }

  refusal(delta: string): void {
    this.#producedCharacters += delta.length;
    if (this.#hasRoomFor(delta)) this.#refusal += delta;
  }

  toolCall({ index, id, name }: ToolCallStart): void {
    if (this.#hasRoomFor(id + name)) this.#toolCalls.set(index, { id, name, arguments: '' });
  }

  toolArguments(index: number, delta: string): void {
    this.#producedCharacters += delta.length;
    const call = this.#toolCalls.get(index);
    if (call !== undefined && this.#hasRoomFor(delta)) call.arguments += delta;
  }

  finish(reason: FinishReason, usage: TokenUsage | undefined): void {
    if (this.isTooLarge) return;
    const { id, created, model } = this.#identity;
    const identity = JSON.stringify({ id: `chatcmpl-${id}`, object: 'chat.completion', created, model }).slice(0, -1);
    const choice = `{"index":0,"message":${this.#messageJson()},"finish_reason":"${reason}"}`;
    const usageMember = usage === undefined ? '' : `,"usage":${JSON.stringify(toUsageObject(usage))}`;
    this.#completion = `${identity},"choices":[${choice}]${usageMember}}`;
    this.#finished = true;
  }

  take(): Uint8Array {
    if (this.#completion === '') return nothing;
    const bytes = Buffer.from(this.#completion);
    this.#completion = '';
    return bytes;
  }

  /** What is too large is given up, and not kept until somebody notices. */
  #hasRoomFor(text: string): boolean {
    this.#bytes += Buffer.byteLength(text);
    if (!this.isTooLarge) return true;
    this.#textJson = '';
    this.#refusal = '';
    this.#toolCalls.clear();
    return false;
  }

  #messageJson(): string {
    const saysNothing = this.#textJson === '' && (this.#toolCalls.size > 0 || this.#refusal !== '');
    const content = saysNothing ? 'null' : `"${this.#textJson}"`;
    const refusal = this.#refusal === '' ? '' : `,"refusal":${JSON.stringify(this.#refusal)}`;
    const toolCalls = this.#toolCalls.size === 0 ? '' : `,"tool_calls":${this.#toolCallsJson()}`;
    return `{"role":"assistant","content":${content}${refusal}${toolCalls}}`;
  }

  #toolCallsJson(): string {
    return JSON.stringify([...this.#toolCalls.values()].map(toToolCallObject));
  }
}

type AssemblerOptions = Omit<ChatAnswerOptions, 'stream' | 'includeUsage'>;

interface AssembledCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

function toToolCallObject({ id, name, arguments: text }: AssembledCall) {
  return { id, type: 'function', function: { name, arguments: text === '' ? noArguments : text } };
}

const nothing = new Uint8Array();

const objectHead: ChatAnswerHead = { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } };
