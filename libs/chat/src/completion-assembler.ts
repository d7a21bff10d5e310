import type { FinishReason, TokenUsage, ToolCallStart } from './answer-sink.ts';
import type { ChatAnswer, ChatAnswerHead, ChatAnswerOptions } from './chat-answer.ts';
import { noArguments } from './no-arguments.ts';
import { toUsageObject } from './usage-object.ts';

/** Gathers a chat answer into one completion object. @see spec "Chat completion object" */
export class CompletionAssembler implements ChatAnswer {
  readonly head = objectHead;
  readonly #identity: Omit<ChatAnswerOptions, 'stream' | 'includeUsage'>;
  readonly #toolCalls = new Map<number, AssembledCall>();
  #text = '';
  #refusal = '';
  #completion = '';
  #finished = false;
  #producedCharacters = 0;

  constructor({ id, created, model }: Omit<ChatAnswerOptions, 'stream' | 'includeUsage'>) {
    this.#identity = { id, created, model };
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

  text(delta: string): void {
    this.#producedCharacters += delta.length;
    this.#text += delta;
  }

  refusal(delta: string): void {
    this.#producedCharacters += delta.length;
    this.#refusal += delta;
  }

  toolCall({ index, id, name }: ToolCallStart): void {
    this.#toolCalls.set(index, { id, name, arguments: '' });
  }

  toolArguments(index: number, delta: string): void {
    this.#producedCharacters += delta.length;
    const call = this.#toolCalls.get(index);
    if (call !== undefined) call.arguments += delta;
  }

  finish(reason: FinishReason, usage: TokenUsage | undefined): void {
    const { id, created, model } = this.#identity;
    this.#completion = JSON.stringify({
      id: `chatcmpl-${id}`,
      object: 'chat.completion',
      created,
      model,
      choices: [{ index: 0, message: this.#message(), finish_reason: reason }],
      ...(usage === undefined ? {} : { usage: toUsageObject(usage) }),
    });
    this.#finished = true;
  }

  take(): Uint8Array {
    if (this.#completion === '') return nothing;
    const bytes = Buffer.from(this.#completion);
    this.#completion = '';
    return bytes;
  }

  #message() {
    const saysNothing = this.#text === '' && (this.#toolCalls.size > 0 || this.#refusal !== '');
    return {
      role: 'assistant',
      content: saysNothing ? null : this.#text,
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
      ...(this.#toolCalls.size === 0 ? {} : { tool_calls: [...this.#toolCalls.values()].map(toToolCallObject) }),
    };
  }
}

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
