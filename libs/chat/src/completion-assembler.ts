import {
  argumentsOfNone,
  type ChatAnswer,
  type ChatAnswerOptions,
  type FinishReason,
  type ToolCallStart,
} from './chat-answer.ts';
import { type TokenUsage, toUsageObject } from './token-usage.ts';

/** Assembles a chat answer into one completion object. @see spec "Chat completion object" */
export class CompletionAssembler implements ChatAnswer {
  readonly head = objectHead;
  readonly isStreamed = false;
  hasContent = false;
  producedCharacters = 0;
  readonly #identity: Pick<ChatAnswerOptions, 'id' | 'created' | 'model'>;
  readonly #toolCalls = new Map<number, AssembledCall>();
  #text = '';
  #refusal = '';
  #completion: Uint8Array = nothing;
  readonly #maxBytes: number;
  /** The size of the deltas so far. */
  #bytes = 0;

  constructor({ id, created, model, maxBytes = Number.POSITIVE_INFINITY }: AssemblerOptions) {
    this.#identity = { id, created, model };
    this.#maxBytes = maxBytes;
  }

  get isTooLarge(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  text(delta: string): void {
    this.producedCharacters += delta.length;
    if (this.#hasRoomFor(delta)) this.#text += delta;
  }

  refusal(delta: string): void {
    this.producedCharacters += delta.length;
    if (this.#hasRoomFor(delta)) this.#refusal += delta;
  }

  toolCall({ index, id, name }: ToolCallStart): void {
    if (this.#hasRoomFor(id + name)) this.#toolCalls.set(index, { id, name, arguments: '' });
  }

  toolArguments(index: number, delta: string): void {
    this.producedCharacters += delta.length;
    const call = this.#toolCalls.get(index);
    if (call !== undefined && this.#hasRoomFor(delta)) call.arguments += delta;
  }

  finish(reason: FinishReason, usage: TokenUsage | undefined): void {
    if (this.isTooLarge) return;
    const { id, created, model } = this.#identity;
    const completion = {
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message: this.#message(reason), finish_reason: reason }],
      usage: usage && toUsageObject(usage),
    };
    this.#completion = Buffer.from(JSON.stringify(completion));
    this.hasContent = true;
  }

  take(): Uint8Array {
    const bytes = this.#completion;
    this.#completion = nothing;
    return bytes;
  }

  /** A completion that exceeds the bound is dropped at once, to free its memory. */
  #hasRoomFor(text: string): boolean {
    this.#bytes += Buffer.byteLength(text);
    if (!this.isTooLarge) return true;
    this.#text = '';
    this.#refusal = '';
    this.#toolCalls.clear();
    return false;
  }

  #message(reason: FinishReason) {
    const toToolCallObject = ({ id, name, arguments: text }: AssembledCall) => {
      return { id, type: 'function', function: { name, arguments: text || argumentsOfNone(reason) } };
    };
    const saysNothing = this.#text === '' && (this.#toolCalls.size > 0 || this.#refusal !== '');
    return {
      role: 'assistant',
      content: saysNothing ? null : this.#text,
      refusal: this.#refusal === '' ? undefined : this.#refusal,
      tool_calls: this.#toolCalls.size === 0 ? undefined : [...this.#toolCalls.values()].map(toToolCallObject),
    };
  }
}

type AssemblerOptions = Omit<ChatAnswerOptions, 'stream' | 'includeUsage'>;

interface AssembledCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

const nothing = new Uint8Array();

const objectHead: ChatAnswer['head'] = { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } };
